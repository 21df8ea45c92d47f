import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loopRefusal, waitCycleText } from './loops.ts';

const limits = { maxHops: 16, maxEdgeRepeats: 6, maxMessagesPerRoot: 64 };
const edge = { from: 'agent:a:main', to: 'agent:b:main', rootRunId: 'r0' };

test('[LP1] each limit stops the message just beyond it and names its setting', () => {
  const cases: [Parameters<typeof loopRefusal>[1]['counts'], RegExp | undefined][] = [
    [{ hops: 16, edgeRepeats: 5, messages: 63 }, undefined],
    [{ hops: 17, edgeRepeats: 0, messages: 0 }, /maxHops is 16/],
    [{ hops: 1, edgeRepeats: 6, messages: 6 }, /maxEdgeRepeats is 6/],
    [{ hops: 1, edgeRepeats: 0, messages: 64 }, /maxMessagesPerRoot is 64/],
  ];
  for (const [counts, expected] of cases) {
    const text = loopRefusal(edge, { limits, counts })?.text;
    if (expected === undefined) assert.equal(text, undefined);
    else assert.match(text ?? '', expected);
  }
});

test('[LP2] the error of a wait cycle names every lane of it and the way out', () => {
  const text = waitCycleText(['agent:a:main', 'agent:b:main', 'agent:a:main']);
  assert.match(text, /agent:a:main waits for agent:b:main waits for agent:a:main/);
  assert.match(text, /timeoutSeconds: 0/);
});
