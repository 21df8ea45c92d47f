/** What the conformance suite expects of a server under test: tools and resources of its own, under its names. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
} from '@modelcontextprotocol/server';
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';
import type { McpOffer } from '../../src/mcp/create-mcp-server.ts';
import type { ResourceSet } from '../../src/mcp/serve-resources.ts';
import type { ToolSet } from '../../src/mcp/serve-tools.ts';

type Contents = NonNullable<Awaited<ReturnType<ResourceSet['read']>>>;
interface Fixture {
  description: string;
  inputSchema?: Tool['inputSchema'];
  call(context: ServerContext): CallToolResult | Promise<CallToolResult>;
}

/** One red pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A header without a sample. */
const WAV = Buffer.from(
  '524946462400000057415645666d74201000000001000100401f0000803e0000020010006461746100000000',
  'hex',
).toString('base64');

const text = (words: string) => ({ type: 'text', text: words }) as const;
const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const resource = (uri: string, content: { mimeType: string; text: string }) =>
  ({ type: 'resource', resource: { uri, ...content } }) as const;

/** A tool that shows the same to everybody. */
function showing(description: string, ...content: CallToolResult['content']): Fixture {
  return { description, call: () => ({ content }) };
}

const TOOLS: Record<string, Fixture> = {
  test_simple_text: showing('shows a text', text('This is a simple text response for testing.')),
  test_image_content: showing('shows an image', image),
  test_audio_content: showing('plays a sound', {
    type: 'audio',
    data: WAV,
    mimeType: 'audio/wav',
  }),
  test_embedded_resource: showing(
    'shows a resource',
    resource('test://embedded-resource', {
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    }),
  ),
  test_multiple_content_types: showing(
    'shows a text, an image and a resource',
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', {
      mimeType: 'application/json',
      text: '{"test":"data","value":123}',
    }),
  ),
  test_error_handling: {
    description: 'fails',
    call: () => ({
      content: [text('This tool intentionally returns an error for testing')],
      isError: true,
    }),
  },
  test_tool_with_progress: { description: 'tells how far it is', call: withProgress },
  test_missing_capability: { description: 'needs a client that samples', call: withSampling },
  json_schema_2020_12_tool: {
    description: 'has a schema with more than the plain words in it',
    inputSchema: schemaOfAllKinds(),
    call: () => ({ content: [] }),
  },
};

/** Adds the fixtures of the suite to what a client is offered. */
export function withConformanceFixtures({ tools, resources }: McpOffer): McpOffer {
  return { tools: withFixtureTools(tools), resources: withFixtureResources(resources) };
}

function withFixtureTools(tools: ToolSet): ToolSet {
  const described = Object.entries(TOOLS).map(
    ([name, { description, inputSchema = { type: 'object' as const } }]): Tool => ({
      name,
      description,
      inputSchema,
    }),
  );
  return {
    ...tools,
    list: async (context) => [...(await tools.list(context)), ...described],
    call: async (name, args, context) =>
      Object.hasOwn(TOOLS, name) ? TOOLS[name]?.call(context) : tools.call(name, args, context),
  };
}

async function withProgress({ mcpReq }: ServerContext): Promise<CallToolResult> {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of progressToken === undefined ? [] : [0, 50, 100])
    await mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken: progressToken!, progress, total: 100 },
    });
  return { content: [text('done')] };
}

function withSampling({ mcpReq }: ServerContext): CallToolResult {
  const requiredCapabilities = { sampling: {} };
  const declared: unknown = Reflect.get(mcpReq.envelope ?? {}, CLIENT_CAPABILITIES_META_KEY);
  if (Reflect.get(Object(declared), 'sampling') === undefined)
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
  return { content: [] };
}

function withFixtureResources(resources: ResourceSet): ResourceSet {
  const known = new Map<string, Contents[number]>(
    [
      {
        uri: 'test://static-text',
        mimeType: 'text/plain',
        text: 'This is the content of the static text resource.',
      },
      { uri: 'test://static-binary', mimeType: 'image/png', blob: PNG },
    ].map((content) => [content.uri, content as Contents[number]]),
  );
  const described = [...known.values()].map(({ uri, mimeType }) => ({
    uri,
    name: uri,
    description: 'of the suite',
    ...(mimeType === undefined ? {} : { mimeType }),
  }));
  const template = {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'of the suite',
    mimeType: 'application/json',
  };
  return {
    templates: [...resources.templates, template],
    list: async (cursor, context) => {
      const page = await resources.list(cursor, context);
      return { ...page, resources: [...page.resources, ...described] };
    },
    read: async (uri, context) => {
      const found = known.get(uri) ?? fromTemplate(uri);
      return found === undefined ? resources.read(uri, context) : [found];
    },
  };
}

function fromTemplate(uri: string): Contents[number] | undefined {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return undefined;
  const body = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: 'application/json', text: JSON.stringify(body) };
}

function schemaOfAllKinds(): Tool['inputSchema'] {
  const word = { type: 'string' } as const;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: { $anchor: 'addressDef', type: 'object', properties: { street: word, city: word } },
    },
    properties: {
      name: word,
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: word,
      email: word,
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  };
}
