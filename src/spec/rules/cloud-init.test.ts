import { describe, expect, it } from 'vitest';
import { problemsOf, webStack } from '../testing/resolving.ts';

/** Lines of a cloned VM, and the expected problem. */
const CASES: readonly (readonly [title: string, lines: string, expected: string | null])[] = [
  [
    'a key that is not public',
    'cloud_init: { ssh_keys: [hello] }',
    '8:30 error BAD_VALUE: Key 1 is not a public SSH key.',
  ],
  [
    'custom cloud-init data without a storage',
    'cloud_init: { meta_data: { env: META }, user_data: { file: user.yaml } }',
    '8:56 error BAD_VALUE: Custom cloud-init data needs a storage for its ISO image, and cloud_init.storage is not set.',
  ],
  [
    'custom cloud-init data in another format',
    'cloud_init: { storage: local, user_data: { file: user.yaml }, type: configdrive2 }',
    '8:73 error BAD_VALUE: Custom cloud-init data uses the NoCloud format',
  ],
  [
    'custom cloud-init data together with other settings',
    'cloud_init: { storage: local, user_data: { file: user.yaml }, type: nocloud, upgrade: false, user: me }',
    null,
  ],
  [
    'an account together with a machine configuration of Talos',
    'guest: talos\ncloud_init: { storage: local, user_data: { file: worker.yaml }, user: me }',
    '9:75 error BAD_VALUE: Talos has no accounts and no packages',
  ],
  [
    'name servers together with network_data',
    'cloud_init: { storage: local, network_data: { file: net.yaml }, dns: { servers: [9.9.9.9] } }',
    'warning BAD_VALUE: This is ignored, because network_data is set',
  ],
  [
    'user-data that cloud-init ignores',
    'guest: cloud-init\ncloud_init: { storage: local, user_data: { text: "packages: [hunter2]" } }',
    'error BAD_VALUE: cloud-init ignores user-data',
  ],
  [
    'a cloud-config for Talos',
    'guest: talos\ncloud_init: { storage: local, user_data: { text: "#cloud-config\\nusers: []" } }',
    'error BAD_VALUE: Talos ignores user-data',
  ],
  [
    'cloud-init data with two sources',
    'cloud_init: { storage: local, user_data: { file: a.yaml, env: A } }',
    '8:46 error BAD_VALUE: "cloud_init.user_data": a cloud-init file is one of "file", "env", "command" or, if it holds no secret, "text".',
  ],
  [
    'a public key that was cut',
    'cloud_init: { ssh_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJq0 me@here] }',
    'Key 1 is damaged: the text after "ssh-ed25519" is not a whole key. Part of it is probably missing.',
  ],
  [
    'a public key of another type than it says',
    'cloud_init: { ssh_keys: [ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH] }',
    'Key 1 is damaged',
  ],
  [
    'a public key',
    'cloud_init: { ssh_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH me@here] }',
    null,
  ],
];

describe('the rules for cloud-init', () => {
  it.each(CASES)('check %s', (_, lines, expected) => {
    expect(problemsOf(webStack(lines))).toEqual(expected === null ? [] : [expect.stringContaining(expected)]);
  });
});
