import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { MASK, maskBeginning, maskKnown, maskSecrets, maskValue } from './mask-secrets.ts';

const LONG = 'aB3dE5gH'.repeat(8);
const DIGITS = '0123456789abcdef'.repeat(4);

/** Made up, each of the form that its issuer gives out. */
const TOKENS: [issuer: string, token: string][] = [
  ['Anthropic', `sk-ant-api03-${LONG}-AA`],
  ['OpenAI', `sk-proj-${LONG}`],
  ['OpenRouter', `sk-or-v1-${DIGITS}`],
  ['Stripe', `sk_live_${LONG}`],
  ['GitHub', `ghp_${LONG.slice(0, 36)}`],
  ['GitHub, fine-grained', `github_pat_${LONG}`],
  ['GitLab', `glpat-${LONG.slice(0, 20)}`],
  ['Slack', `xoxb-123456789012-1234567890123-${LONG.slice(0, 24)}`],
  ['AWS', 'AKIAIOSFODNN7EXAMPLE'],
  ['Google', `AIza${LONG.slice(0, 35)}`],
  ['npm', `npm_${LONG.slice(0, 36)}`],
  ['PyPI', `pypi-${LONG}`],
  ['Hugging Face', `hf_${LONG.slice(0, 34)}`],
  ['Groq', `gsk_${LONG}`],
  ['xAI', `xai-${LONG}`],
  ['SendGrid', `SG.${LONG.slice(0, 22)}.${LONG.slice(0, 43)}`],
  ['Telegram', `123456789:${LONG.slice(0, 35)}`],
  ['Shopify', `shpat_${DIGITS.slice(0, 32)}`],
  ['DigitalOcean', `dop_v1_${DIGITS}`],
  ['HashiCorp', `hvs.${LONG}`],
  ['Linear', `lin_api_${LONG.slice(0, 40)}`],
  ['Databricks', `dapi${DIGITS.slice(0, 32)}`],
  ['Docker', `dckr_pat_${LONG.slice(0, 27)}`],
  ['GitHub, of an app', `ghs_${LONG.slice(0, 36)}.${LONG}.${LONG.slice(0, 20)}`],
  ['Vercel', `vcp_${LONG.slice(0, 40)}`],
  ['Tailscale', `tskey-auth-${LONG.slice(0, 16)}-${LONG.slice(0, 32)}`],
  ['Cloudflare', `cfut_${LONG.slice(0, 40)}${DIGITS.slice(0, 8)}`],
  ['Slack, a webhook', `https://hooks.slack.com/services/T0AB/B0AB/${LONG.slice(0, 24)}`],
  ['a JSON Web Token', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${LONG.slice(0, 43)}`],
];

const PLACED: [text: string, masked: string][] = [
  ['Authorization: Bearer abc123def456', `Authorization: Bearer ${MASK}`],
  ['authorization: basic dXNlcjpwYXNzd29yZDEyMw==', `authorization: basic ${MASK}`],
  ['postgres://app:p4ss@db:5432/x', `postgres://app:${MASK}@db:5432/x`],
  ['DB_PASSWORD=hunter2 next', `DB_PASSWORD=${MASK} next`],
  ['{"client_secret": "two words", "n": 1}', `{"client_secret": "${MASK}", "n": 1}`],
  ['{\\"password\\":\\"hunter2\\"}', `{\\"password\\":\\"${MASK}\\"}`],
  ["apiKey: 'abcd'", `apiKey: '${MASK}'`],
  ['aws_secret_access_key = wJalrXUtnFEMI/K7MDENG', `aws_secret_access_key = ${MASK}`],
  [
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----.',
    `-----BEGIN RSA PRIVATE KEY-----${MASK}-----END RSA PRIVATE KEY-----.`,
  ],
  ['-----BEGIN PRIVATE KEY-----\nMIIE (cut)', `-----BEGIN PRIVATE KEY-----${MASK}`],
];

const HARMLESS = [
  'const token = await getToken();',
  'max_tokens=4096 and token_count: 5',
  'password: required field',
  'the secret: a mystery of 2000 years',
  'Bearer authentication mechanism',
  'PASSWORD=${DB_PASSWORD} and api_key=$KEY and secret=<your secret>',
  'task-based-approach-number-12345678901234',
  'see https://example.com:8080/path?x=1',
  'commit 3f786850e387550fdab836ed7e6dc881de23001b',
  'id 00000000-0000-4000-8000-000000000001',
];

describe('credentials', () => {
  for (const [issuer, token] of TOKENS)
    test(`[MK1] a token of ${issuer} is masked, the text around it stays`, () => {
      assert.equal(maskSecrets(`it is ${token}, really`), `it is ${MASK}, really`);
    });

  for (const [text, masked] of PLACED)
    test(`[MK1] ${JSON.stringify(text).slice(0, 60)} keeps all but the value`, () => {
      assert.equal(maskSecrets(text), masked);
    });

  for (const text of HARMLESS)
    test(`[MK1] ${JSON.stringify(text)} stays as it is`, () => {
      assert.equal(maskSecrets(text), text);
    });

  test('[MK1] no text switches the masking off, and no two masks are for one token', () => {
    const token = `vcp_${LONG.slice(0, 40)}`;
    const text = `secretlint-disable ${token} // secretlint-disable-line ${token}`;
    assert.equal(
      maskSecrets(text),
      `secretlint-disable ${MASK} // secretlint-disable-line ${MASK}`,
    );
  });

  test('[MK6] a known secret is masked whatever it looks like', () => {
    assert.equal(
      maskKnown('say open sesame, open', ['open sesame', '', 'say']),
      `say ${MASK}, open`,
    );
  });

  test('[MK6] of a known secret that begins with another one nothing is left', () => {
    const secrets = ['open sesame', 'open sesame and barley'];
    for (const known of [secrets, secrets.toReversed()])
      assert.equal(maskKnown('say open sesame and barley', known), `say ${MASK}`);
  });

  test('[MK1] masking again changes nothing', () => {
    const part = fc.constantFrom(
      ...TOKENS.map(([, token]) => token),
      ...PLACED.map(([text]) => text),
      ' ',
      '\n',
      'x',
      '"',
      ...HARMLESS,
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const masked = maskSecrets(parts.join(' '));
        assert.equal(maskSecrets(masked), masked);
      }),
    );
  });

  test('[MK4] what is shown of a text is masked, however much the masks make it shorter', () => {
    const token = `ghp_${LONG.slice(0, 36)}`;
    const text = `${`${token} `.repeat(2000)}tail`;
    for (const shown of [10, 1000, 10_000]) {
      assert.ok(!maskBeginning(text, shown).slice(0, shown).includes('ghp_'), `${shown}`);
    }
    assert.equal(maskBeginning('short', 1), 'short');
  });
});

describe('a message', () => {
  test('[MK1] is masked in every text, under names that say it, and not in images', () => {
    const image = { type: 'image', data: `ghp_${LONG}`, mimeType: 'image/png' };
    const untouched = { role: 'user', content: [image, { type: 'text', text: 'hello' }] };
    assert.equal(maskValue(untouched), untouched);
    assert.deepEqual(
      maskValue({
        content: [
          { type: 'thinking', thinking: `use ghp_${LONG}`, thinkingSignature: `ghp_${LONG}` },
          { type: 'toolCall', arguments: { password: 'short', api_key: '', user: 'me' } },
          image,
        ],
      }),
      {
        content: [
          { type: 'thinking', thinking: `use ${MASK}`, thinkingSignature: `ghp_${LONG}` },
          { type: 'toolCall', arguments: { password: MASK, api_key: '', user: 'me' } },
          image,
        ],
      },
    );
  });
});
