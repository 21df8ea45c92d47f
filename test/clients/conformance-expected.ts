/**
 * What the conformance suite is expected to find missing, by what the door does not offer. An entry is
 * `scenario:check`; it has to fail, be warned of or be skipped wherever its scenario runs, and nothing else may.
 */
export const NOT_OFFERED: Record<string, readonly string[]> = {
  'prompts: the gateway has no texts for people to start from': [
    'prompts-list:prompts-list',
    'prompts-get-simple:prompts-get-simple',
    'prompts-get-with-args:prompts-get-with-args',
    'prompts-get-embedded-resource:prompts-get-embedded-resource',
    'prompts-get-with-image:prompts-get-with-image',
    'caching:sep-2549-prompts-list-caching-hints',
    'input-required-result-non-tool-request:sep-2322-non-tool-incomplete',
  ],
  'completion of arguments: sessions are found with sessions_list and sessions_search': [
    'completion-complete:completion-complete',
  ],
  'logging to the client: the log is the operator’s': [
    'logging-set-level:logging-set-level',
    'tools-call-with-logging:tools-call-with-logging',
    'server-stateless:sep-2575-server-no-log-without-loglevel',
  ],
  'subscriptions to a resource: news of a session come by sessions_wait and sessions_inbox': [
    'resources-subscribe:resources-subscribe',
    'resources-unsubscribe:resources-unsubscribe',
  ],
  'questions to the client (sampling, elicitation, roots): a tool takes all it needs as arguments':
    [
      'tools-call-sampling:tools-call-sampling',
      'tools-call-elicitation:tools-call-elicitation',
      'elicitation-sep1034-defaults:elicitation-sep1034-general',
      'elicitation-sep1330-enums:elicitation-sep1330-general',
      'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
      'input-required-result-basic-elicitation:sep-2322-elicitation-incomplete',
      'input-required-result-basic-sampling:sep-2322-sampling-incomplete',
      'input-required-result-basic-list-roots:sep-2322-list-roots-incomplete',
      'input-required-result-request-state:sep-2322-request-state-incomplete',
      'input-required-result-multiple-input-requests:sep-2322-multiple-inputs-incomplete',
      'input-required-result-multi-round:sep-2322-multi-round-r1',
      'input-required-result-missing-input-response:sep-2322-missing-response-rerequests',
      'input-required-result-result-type:sep-2322-result-type-included',
      'input-required-result-tampered-state:sep-2322-reject-tampered-state',
      'input-required-result-capability-check:sep-2322-respect-client-capabilities',
      'input-required-result-ignore-extra-params:sep-2322-ignore-unexpected-params',
    ],
  'arguments repeated as HTTP headers: no tool asks for it': [
    'http-custom-header-server-validation:sep-2243-server-no-xmcp-tool',
    'http-custom-header-server-validation:sep-2243-server-decode-base64',
    'http-custom-header-server-validation:sep-2243-server-validate-param-match',
    'http-custom-header-server-validation:sep-2243-server-reject-invalid-param-chars',
    'http-custom-header-server-validation:sep-2243-server-reject-param-mismatch',
  ],
  'streams that are taken up again: a call ends in time, and sessions_wait goes on': [
    'server-sse-polling:server-sse-priming-event',
    'server-sse-polling:server-sse-retry-field',
  ],
  'sessions of the transport that end with DELETE: nothing is kept for a connection': [
    'server-session-lifecycle:server-session-delete-accepted',
    'server-session-lifecycle:server-session-terminated-returns-404',
  ],
  'news of a changed list: a client asks for the list when it needs it': [
    'server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription',
    'server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription',
  ],
};
