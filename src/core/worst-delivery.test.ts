import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DELIVERY_STATES } from '../protocol/words.ts';
import { worstDelivery } from './worst-delivery.ts';

it('[EX29, DL10] every state has a place: any is worse than sent, and none is worse than failed', () => {
  for (const state of DELIVERY_STATES) {
    assert.equal(worstDelivery([{ state: 'sent' }, { state }])?.state, state);
    assert.equal(worstDelivery([{ state }, { state: 'failed' }])?.state, 'failed');
  }
  assert.equal(worstDelivery([{ state: 'dropped' }, { state: 'unknown' }])?.state, 'unknown');
  assert.equal(worstDelivery([]), undefined);
});
