/**
 * How credentials look, as data. A format is written so that looking for it costs a text once: it can
 * begin only where a run of its characters begins, and no part of it can be read in two ways.
 */

/** Tokens that tell by their beginning whose they are: name of the issuer, pattern. */
export const TOKEN_FORMATS: readonly (readonly [issuer: string, pattern: string])[] = [
  ['OpenAI, Anthropic, OpenRouter and others', 'sk-(?=[\\w-]{0,40}\\d)[\\w-]{16,}'],
  ['Stripe', '[spr]k_(?:live|test)_\\w{10,}|whsec_[\\w+/=]{16,}'],
  ['GitHub', 'gh[pousr]_\\w{20,}(?:\\.[\\w-]{10,}){0,2}|github_pat_\\w{20,}'],
  ['GitLab', 'gl(?:pat|dt|ft|rt|ptt|cbt|soat|agent|imt|oas|ffct)-[\\w-]{16,}'],
  ['Slack', 'xox[abeoprs]-[\\w-]{10,}|xapp-[\\w-]{10,}'],
  ['AWS', '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])'],
  ['Google', 'AIza[\\w-]{30,}|ya29\\.[\\w-]{20,}|GOCSPX-[\\w-]{20,}'],
  ['npm, PyPI, RubyGems', 'npm_\\w{30,}|pypi-[\\w-]{40,}|rubygems_[a-f0-9]{40,}'],
  ['Hugging Face, Groq, xAI', 'hf_\\w{20,}|gsk_\\w{20,}|xai-\\w{20,}'],
  ['Replicate, Perplexity, Tavily', 'r8_\\w{30,}|pplx-\\w{30,}|tvly-[\\w-]{20,}'],
  ['SendGrid, Mailgun', 'SG\\.[\\w-]{16,}\\.[\\w-]{16,}|key-[a-f0-9]{32}'],
  ['Telegram', '\\d{8,10}:[\\w-]{35}(?![\\w-])'],
  ['Discord', '[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,45}'],
  ['Shopify', 'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}'],
  ['DigitalOcean', 'do[oprt]_v1_[a-f0-9]{60,}'],
  ['HashiCorp', 'hv[sbr]\\.[\\w-]{20,}|[\\w-]{14}\\.atlasv1\\.[\\w-]{60,}'],
  ['Doppler, Linear, Notion', 'dp\\.[a-z]{2,6}\\.\\w{40,}|lin_(?:api|oauth)_\\w{30,}|ntn_\\w{40,}'],
  ['Figma, Databricks, Grafana', 'figd_[\\w-]{30,}|dapi[a-f0-9]{32}|gl(?:sa|c)_[\\w+/=]{30,}'],
  [
    'Docker, PlanetScale, Postman',
    'dckr_pat_[\\w-]{20,}|pscale_\\w+_[\\w.-]{30,}|PMAK-[\\w-]{50,}',
  ],
  ['Sentry, New Relic, age', 'sntry[su]_[\\w+/=]{40,}|NRAK-\\w{27}|AGE-SECRET-KEY-1\\w{50,}'],
  ['JSON Web Tokens', 'eyJ[\\w-]{8,}\\.eyJ[\\w-]{8,}(?:\\.[\\w-]*)?'],
];

/** Names that a value is secret under, at the end of a longer name too: `DB_PASSWORD`, `clientSecret`. */
const SECRET_NAMES = [
  'pass(?:word|wd|phrase)',
  'secret(?:[_-]?(?:access)?[_-]?key)?',
  '(?:api|access|auth|private|encryption|signing|account|shared[_-]?access)[_-]?key',
  '(?:access|auth|refresh|id|bearer|session|bot|api|csrf)?[_-]?token',
  'credentials?',
].join('|');

/** The name of a property whose value is secret. */
export const SECRET_NAME = new RegExp(`(?:${SECRET_NAMES})$`, 'i');

/** Values that stand for a secret, or for none. */
const NO_VALUE = '(?![$<*[{%]|(?:null|none|undefined|true|false|process|os|env)\\b)';
const BARE = `[^\\s"'\`,;&<>()[\\]{}\\\\]`;

/** Credentials that are known by what stands around them; `kept` stays. */
export const PLACED_FORMATS: readonly (readonly [place: string, pattern: string, flags: string])[] =
  [
    [
      'private keys',
      '(?<kept>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?!\\[masked)(?:(?!-----END )[^])+',
      '',
    ],
    ['passwords in addresses', '(?<kept>://[^\\s:/@]{0,256}:)[^\\s/@]{1,256}(?=@)', ''],
    [
      'HTTP credentials',
      '(?<kept>\\b(?:Bearer|Basic|Token) {1,3})(?=[\\w.~+/-]{0,64}\\d)[\\w.~+/-]{12,}={0,2}',
      'i',
    ],
    [
      'quoted values',
      `(?<kept>(?:${SECRET_NAMES})\\\\?["']? {0,3}(?:[:=]|=>) {0,3}\\\\?["'])${NO_VALUE}[^"'\\\\\\n]{4,}`,
      'i',
    ],
    ['assignments', `(?<kept>(?:${SECRET_NAMES})=)${NO_VALUE}${BARE}{4,}`, 'i'],
    [
      'values of a mapping',
      `(?<kept>(?:${SECRET_NAMES})["']? {0,3}[:=] {0,3})${NO_VALUE}(?=[A-Za-z._-]{0,200}[^\\sA-Za-z._-])${BARE}{8,}`,
      'i',
    ],
  ];
