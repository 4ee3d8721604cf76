import { describe, expect, it } from 'vitest';
import { findPhrase, findPhraseInLog, PHRASES } from './phrases.ts';

describe('the table of phrases', () => {
  it.each(PHRASES.map((phrase) => [phrase.sample, phrase] as const))('knows %j', (sample, phrase) => {
    expect(findPhrase(sample)).toBe(phrase);
    expect(findPhrase(`${sample}\n`)).toBe(phrase);
  });
});

describe('a message of the server', () => {
  // Recorded messages, or messages from the source of the emitter.
  it.each([
    ['VM is locked (clone)', 'GUEST_LOCKED'],
    ['VM is locked (snapshot-delete)', 'GUEST_LOCKED'],
    ["can't lock file '/var/lock/qemu-server/lock-312.conf' - got timeout", 'CONFIG_LOCKED'],
    ["clone failed: can't lock file '/var/lock/qemu-server/lock-312.conf' - got timeout", 'CONFIG_LOCKED'],
    ["cfs-lock 'file-user_cfg' error: got lock request timeout", 'CLUSTER_LOCKED'],
    [
      "access permissions cleanup for VM 101 failed: cfs-lock 'file-user_cfg' error: got lock request timeout",
      'CLUSTER_LOCKED',
    ],
    ["cfs-lock 'storage-nfs' error: got lock request timeout", 'STORAGE_LOCKED'],
    ["cfs-lock 'file-user_cfg' error: no quorum!", 'NO_QUORUM'],
    ["unable to create VM 322 - VM 322 already exists on node 'pve1'", 'VMID_TAKEN'],
    ["unable to create VM 322 - CT 322 already exists on node 'pve1'", 'VMID_TAKEN'],
    ['VM 100 already exists', 'VMID_TAKEN'],
    ["unable to create VM 213 - failed to stat '/var/lib/vz/import/nosuch.qcow2'", 'NOT_FOUND'],
    ["Configuration file 'nodes/pve1/qemu-server/213.conf' does not exist", 'NOT_FOUND'],
    ['No such storage.', 'NOT_FOUND'],
    ["delete pool failed: pool 'dev' does not exist", 'NOT_FOUND'],
    ["create pool failed: pool 'dev' already exists", 'ALREADY_EXISTS'],
    ["create role failed: role 'ScR' already exists", 'ALREADY_EXISTS'],
    ["ide3 - cloud-init drive is already attached at 'ide2'", 'ALREADY_EXISTS'],
    ["refusing to override existing file '/var/lib/vz/template/iso/blob.iso'", 'ALREADY_EXISTS'],
    ["can't remove drive 'scsi0' - protection mode enabled", 'PROTECTED'],
    ['VM 335 is not running', 'NOT_RUNNING'],
    ['Permission check failed', 'PRIVILEGE_MISSING'],
    ["Permission check failed (/, Sys.Modify for modifying tag 'Alpha')", 'PRIVILEGE_MISSING'],
    ["only root can set 'vmgenid' config", 'ROOT_ONLY'],
    ['No ticket', 'LOGIN_REFUSED'],
    ['authentication failure', 'LOGIN_REFUSED'],
    ['permission denied - invalid PVE ticket', 'TICKET_EXPIRED'],
    ['unable to connect to VM 101 qga socket - timeout after 101 retries', 'AGENT_UNAVAILABLE'],
    ['starting worker failed: unable to open /var/log/pve/tasks', 'NOT_EXECUTED'],
    ["400 Parameter verification failed.  net0: hotplug problem - can't unplug", 'PARAMETER_REJECTED'],
    ["parameter 'storage' not allowed for linked clones", 'PARAMETER_REJECTED'],
    // What wget quotes is about the web server, not about the cluster.
    ["download failed: storage 'x' does not exist", 'DOWNLOAD_FAILED'],
    ["failed to verify file: qemu-img: Could not open '/a': Image is not in qcow2 format", 'IMAGE_REFUSED'],
    ["import failed: cp: error writing '/var/lib/vz/import/a.raw': No space left on device", 'NO_SPACE'],
    ['cannot index groups: ha groups have been migrated to rules', 'NOT_IMPLEMENTED'],
  ])('%j means %s', (text, code) => expect(findPhrase(text)?.code).toBe(code));

  it.each([
    'VM 507 is running - destroy failed',
    "you can't start a vm if it's a template",
    'VM quit/powerdown failed - got timeout',
    'got timeout',
    'command failed: got timeout',
    'the disk is locked',
    'hook script said: VM is locked (backup)',
    'file does not exist',
    "a hook said: storage 'x' does not exist",
    'OK',
    '',
  ])('%j has no known meaning', (text) => expect(findPhrase(text)).toBeUndefined());

  it('in a log counts only if the table says so', () => {
    const full = 'qemu-img: error while writing at byte 67108864: No space left on device';
    expect(findPhraseInLog(['transferred', full])?.code).toBe('NO_SPACE');
    expect(findPhraseInLog(['VM is locked (backup)', 'no such task'])).toBeUndefined();
  });

  it('about something missing says what is missing', () => {
    expect(findPhrase('no such task')?.subject).toBe('task');
    expect(findPhrase("storage 'x' does not exist")?.subject).toBe('storage');
    expect(findPhrase("unable to find configuration file for VM 4711 on node 'pve1'")?.subject).toBe('guest');
  });
});
