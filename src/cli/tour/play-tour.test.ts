import assert from 'node:assert/strict';
import { test } from 'node:test';
import { captureIo } from '../../../test/helpers/captured-io.ts';
import { playTour } from './play-tour.ts';
import { TOUR_STEPS } from './tour-steps.ts';

test('every step of the tour happens, on a state of its own, as often as one likes', async () => {
  for (let round = 0; round < 2; round += 1) {
    const { io, written } = captureIo();
    assert.equal(await playTour(io), true);
    const { out } = written();
    for (const { title } of TOUR_STEPS) assert.ok(out.includes(title), title);
    assert.match(out, /"status": "forbidden"/);
    assert.match(out, /"status": "ok"/);
    assert.match(out, /"kind": "inter_session"/);
    assert.match(out, /"childSessionKey": "agent:main:subagent:/);
    assert.match(out, /^ +Status: success$/m);
    assert.match(out, /Every step of the tour happened\.$/);
  }
});
