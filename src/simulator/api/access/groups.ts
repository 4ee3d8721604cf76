/** /access/groups: groups of users. Membership is set through the users. */
import { removeAclEntries } from '../../access/acl.ts';
import { changeUserConfig, storedField } from '../../access/user-config.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';
import type { Group, World } from '../../world/world.ts';

export const groupRoutes: Routes = {
  'GET /access/groups': listGroups,
  'POST /access/groups': createGroup,
  'GET /access/groups/{groupid}': readGroup,
  'PUT /access/groups/{groupid}': updateGroup,
  'DELETE /access/groups/{groupid}': deleteGroup,
};

function listGroups(call: Call): unknown {
  const { world } = call.runtime;
  const visible = [...world.access.groups.values()].filter(({ groupid }) =>
    call.may(`/access/groups/${groupid}`, ['User.Modify', 'Sys.Audit', 'Group.Allocate'], { any: true }),
  );
  return visible.map((group) => ({
    groupid: group.groupid,
    ...commentOf(group),
    users: membersOf(world, group.groupid).join(','),
  }));
}

function readGroup(call: CallTo<'GET /access/groups/{groupid}'>): unknown {
  const group = requireGroup(call);
  return { members: membersOf(call.runtime.world, group.groupid), ...commentOf(group) };
}

async function createGroup({ params, runtime }: CallTo<'POST /access/groups'>): Promise<void> {
  const groupid = params.groupid;
  const { groups } = runtime.world.access;
  await changeUserConfig(runtime, 'create group failed', () => {
    if (groups.has(groupid)) throw dieFault(`group '${groupid}' already exists`);
    groups.set(groupid, { groupid, comment: storedField(params.comment ?? '') });
  });
}

async function updateGroup(call: CallTo<'PUT /access/groups/{groupid}'>): Promise<void> {
  await changeUserConfig(call.runtime, 'update group failed', () => {
    const group = requireGroup(call);
    const comment = call.params.comment;
    if (comment !== undefined) group.comment = storedField(comment);
  });
}

async function deleteGroup(call: CallTo<'DELETE /access/groups/{groupid}'>): Promise<void> {
  await changeUserConfig(call.runtime, 'delete group failed', () => {
    const { groupid } = requireGroup(call);
    const { access } = call.runtime.world;
    access.groups.delete(groupid);
    for (const user of access.users.values()) user.groups.delete(groupid);
    removeAclEntries(access, (entry) => entry.kind === 'group' && entry.ugid === groupid);
  });
}

function membersOf(world: World, groupid: string): string[] {
  return [...world.access.users.values()]
    .filter((user) => user.groups.has(groupid))
    .map((user) => user.userid)
    .sort();
}

function commentOf(group: Group): { comment?: string } {
  return group.comment === undefined ? {} : { comment: group.comment };
}

function requireGroup({ params, runtime }: Call<{ readonly groupid: string }>): Group {
  const groupid = params.groupid;
  const group = runtime.world.access.groups.get(groupid);
  if (!group) throw dieFault(`group '${groupid}' does not exist`);
  return group;
}
