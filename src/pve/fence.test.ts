import { describe, expect, it } from 'vitest';
import { isStreamBody } from '../base/transport.ts';
import { ok, testClient } from './testing/client.ts';

const UPID = 'UPID:pve1:0000C8A1:0001E0F2:6A0B1C2D:imgcopy::deploy@pve!ci:';

describe('the fence', () => {
  it('ends an upload before its next part once the run has lost its lock', async () => {
    const { clock, pve, transport } = testClient(() => ok(UPID));
    const bytes = {
      sizeBytes: 2,
      open: async function* () {
        yield new Uint8Array(1);
        yield new Uint8Array(1);
      },
    };
    await clock.run(() => pve.node('pve1').storage('local').upload({ content: 'iso', filename: 'a.iso', bytes }));
    const body = transport.requests[1]?.body;
    if (!isStreamBody(body)) throw new Error('The body is not a stream.');
    const sent: Uint8Array[] = [];
    const sending = (async () => {
      for await (const chunk of body.open()) {
        sent.push(chunk);
        pve.fence.guardedBy(() => {
          throw new Error('the lock is lost');
        });
      }
    })();
    await expect(sending).rejects.toThrow('the lock is lost');
    expect(sent).toHaveLength(1);
  });
});
