import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type McpAnswer, toMcpOutcome } from './mcp-result.ts';

const outcomeOf = (answer: McpAnswer) => toMcpOutcome(answer, (text) => text);
const image = (data: string) => ({ type: 'image', data, mimeType: 'image/png' });

test('[MS7] text, images, structured content and resources become what a model reads', () => {
  const { text, images, isError } = outcomeOf({
    content: [
      { type: 'text', text: 'one' },
      image('AAAA'),
      { type: 'resource_link', name: 'log', uri: 'file:///log', mimeType: 'text/plain' },
      { type: 'resource', resource: { uri: 'file:///a', text: 'inside' } },
      { type: 'resource', resource: { uri: 'file:///b', blob: 'A'.repeat(4096) } },
      { type: 'audio', data: 'A'.repeat(4096), mimeType: 'audio/wav' },
      { type: 'hologram' },
      null,
    ],
    structuredContent: { not: 'shown beside a text' },
  });
  assert.deepEqual(text.split('\n'), [
    'one',
    '[resource log: file:///log (text/plain)]',
    '[resource file:///a]',
    'inside',
    '[resource file:///b] [binary data, 3 KB, not shown: a model does not read it]',
    '[audio/wav, 3 KB, not shown: a model does not read it]',
    '[content of the type hologram, which is not shown]',
    '[content of the type , which is not shown]',
  ]);
  assert.deepEqual(images, [image('AAAA')]);
  assert.equal(isError, false);
});

test('[MS7] an answer without a text shows its structured content, and one without anything says so', () => {
  assert.equal(outcomeOf({ content: [], structuredContent: { a: 1 } }).text, '{"a":1}');
  assert.equal(outcomeOf({ structuredContent: [0] }).text, '[0]');
  assert.equal(outcomeOf({ content: 'no list' }).text, '[no output]');
  assert.equal(outcomeOf({ content: [image('AAAA')] }).text, '');
  assert.equal(outcomeOf({ content: [], isError: true }).isError, true);
});

test('[MS7] what is shown is bounded: letters, images and their size', () => {
  const { text } = outcomeOf({ content: [{ type: 'text', text: `a${'x'.repeat(99_998)}z` }] });
  assert.ok(text.length < 30_100 && text.startsWith('a') && text.endsWith('z'), `${text.length}`);
  assert.match(text, /\[… 70000 characters left out …\]/);
  const many = outcomeOf({ content: Array.from({ length: 20 }, () => image('AAAA')) });
  assert.equal(many.images.length, 8);
  assert.match(many.text, /not shown: there are too many/);
  const large = outcomeOf({ content: [image('A'.repeat(6_000_000)), image('AAAA')] });
  assert.deepEqual(large.images, [image('AAAA')]);
});

test('[MS7, FZ1] whatever a server answers becomes a bounded text and never a fault', () => {
  const word = fc.oneof(fc.string(), fc.constantFrom('text', 'image', 'resource', 'image/png'));
  const block = fc.record(
    { type: word, text: fc.anything(), data: word, mimeType: word, resource: fc.anything() },
    { requiredKeys: [] },
  );
  const answer = fc.record(
    {
      content: fc.oneof(fc.array(fc.oneof(block, fc.jsonValue())), fc.jsonValue()),
      structuredContent: fc.jsonValue(),
      isError: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(answer, (given) => {
      const { text, images, isError } = outcomeOf(given);
      assert.ok(text.length < 30_100 && text.isWellFormed() && images.length <= 8);
      assert.equal(isError, given.isError === true);
    }),
  );
  const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) as unknown;
  assert.match(outcomeOf({ structuredContent: deep }).text, /deeper than 64 levels/);
});
