/** A server that is newer than every known release: it may have renamed a privilege, so Proxwright warns and continues. */
import { expect, it } from 'vitest';
import type { Transport } from '../../../src/base/transport.ts';
import { parseToken } from '../../../src/pve/index.ts';
import { buildWorld } from '../../../src/simulator/index.ts';
import { LAB_WORLD } from '../engine/support/lab-world.ts';
import { Scene } from '../engine/support/scene.ts';
import { STACK } from './support/clinic.ts';

const SECRET = '00000000-0000-4000-8000-0000000000aa';
/** All but the right to ask guests. */
const PRIVILEGES = [
  ...[
    'VM.Allocate',
    'VM.Audit',
    'VM.Clone',
    'VM.Config.CPU',
    'VM.Config.Disk',
    'VM.Config.Memory',
    'VM.Config.Network',
  ],
  ...['VM.Config.Options', 'VM.PowerMgmt', 'Datastore.AllocateSpace', 'SDN.Use'],
];

function calledItself(version: string): (transport: Transport) => Transport {
  return (transport) => ({
    send: async (request, options) => {
      const response = await transport.send(request, options);
      if (!request.target.endsWith('/version')) return response;
      return { ...response, body: response.body.replace(/"version":"[^"]+"/, `"version":"${version}"`) };
    },
    close: () => transport.close(),
  });
}

function sceneOn(version: string): Scene {
  return new Scene({
    world: ({ now }) =>
      buildWorld(
        {
          ...LAB_WORLD,
          roles: { ...LAB_WORLD.roles, Few: PRIVILEGES },
          users: { ...LAB_WORLD.users, 'few@pve': { tokens: { tok: { secret: SECRET, privsep: false } } } },
          acl: [...(LAB_WORLD.acl ?? []), { path: '/', role: 'Few', user: 'few@pve' }],
        },
        { now, file: 'newer' },
      ),
    credentials: parseToken(`few@pve!tok=${SECRET}`),
    disguise: calledItself(version),
  });
}

it('refuses a plan for a missing privilege on a release that is known', async () => {
  expect(await sceneOn('9.2.11').plan(STACK())).toMatchObject({
    kind: 'refused',
    problems: [{ code: 'PRIVILEGE_MISSING' }],
  });
});

it('is a warning on an unknown newer release', async () => {
  const end = await sceneOn('12.1.3').plan(STACK());
  if (end.kind !== 'ended') throw new Error(JSON.stringify(end));
  expect(end.plan.warnings).toMatchObject([
    {
      severity: 'warning',
      code: 'PRIVILEGE_MISSING',
      detail: expect.stringContaining('does not know this release'),
    },
  ]);
});
