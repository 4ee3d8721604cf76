import { describe, expect, it } from 'vitest';
import { badAnswer, errorFromResponse, type RequestContext } from './failures.ts';
import { isNotExecuted, isNotFound, isOutcomeUnknown } from './kinds.ts';

const context: RequestContext = {
  changes: true,
  request: 'PUT /nodes/pve1/qemu/101/config',
  endpoint: 'https://pve1.example.org:8006',
  principal: 'deploy@pve!ci',
  secrets: [],
};
const more = { where: { address: 'vm.web', step: 'configure' }, addedDetail: 'More.', hint: 'Look.' };

function answered(status: number, message: string) {
  return errorFromResponse(context, { status, reason: message, headers: {}, body: '' });
}

describe('an error of the API keeps its classification after context was added', () => {
  it('about what was not found', () => {
    const error = answered(500, "Configuration file 'nodes/pve1/qemu-server/101.conf' does not exist").with(more);
    expect(isNotFound(error, 'guest')).toBe(true);
    expect(isNotFound(error, 'storage')).toBe(false);
  });

  it('about a change whose response cannot be read', () => {
    const error = badAnswer(context, 'it is empty.');
    expect(error.code).toBe('BAD_ANSWER');
    expect([error, error.with(more)].map(isOutcomeUnknown)).toEqual([true, true]);
    expect(isOutcomeUnknown(badAnswer({ ...context, changes: false }, 'it is empty.').with(more))).toBe(false);
  });

  it('about a request that was not executed', () => {
    expect(isNotExecuted(answered(595, 'Connection refused').with(more))).toBe(true);
    expect(isOutcomeUnknown(answered(596, 'Connection timed out').with(more))).toBe(true);
  });
});
