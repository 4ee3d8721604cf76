/**
 * The meaning of each phrase. A code decides whether a request is retried, awaited or given up, so this states the
 * table a second time, by the messages of the server; and every phrase must have its texts for users.
 */
import { describe, expect, it } from 'vitest';
import { toHint } from '../../base/hint.ts';
import { findPhrase, findPhraseInLog, PHRASES } from './phrases.ts';

/** A text of the server, the code, and what was not found. */
const MEANINGS: readonly (readonly [text: string, meaning: string])[] = [
  ['VM is locked (destroyed)', 'GUEST_LOCKED'],
  ['VM is locked (backup)', 'GUEST_LOCKED'],
  ["unable to create VM 312 - can't lock file '/var/lock/qemu-server/lock-312.conf' - got timeout", 'CONFIG_LOCKED'],
  ["can't lock file '/var/lock/pve-manager/pve-migrate-101' - got timeout", 'CONFIG_LOCKED'],
  ['unexpected state change', 'CONFIG_LOCKED'],
  ["clone failed: can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout", 'STORAGE_LOCKED'],
  ["clone failed: cfs-lock 'storage-ceph' error: got lock request timeout", 'STORAGE_LOCKED'],
  ["clone failed: 'storage-nfs1'-locked command timed out - aborting", 'STORAGE_LOCKED'],
  ['cluster not ready - no quorum?', 'NO_QUORUM'],
  ["can't add VM 101 to pool 'dev': cfs-lock 'file-user_cfg' error: got lock request timeout", 'CLUSTER_LOCKED'],
  ["'file-user_cfg'-locked command timed out - aborting", 'CLUSTER_LOCKED'],
  ['got no worker upid - start worker failed', 'NOT_EXECUTED'],
  ["can't lock file '/var/log/pve/tasks/.active.lock' - got timeout", 'OUTCOME_UNKNOWN'],
  ['unable to create VM 9000: config file already exists', 'VMID_TAKEN'],
  ["unable to create VM 322 - VM 322 already exists on node 'pve1'", 'VMID_TAKEN'],
  ["close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/102.conf' failed: File exists", 'VMID_TAKEN'],
  ['checksum mismatch (file change by other user?)', 'CONFIG_CHANGED'],
  ['detected modified configuration - file changed by other user? Try again.', 'CONFIG_CHANGED'],
  ["only root can set 'hostpci0' config for non-mapped devices", 'ROOT_ONLY'],
  ['Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.', 'ROOT_ONLY'],
  ["Permission check failed (URI '/access/password' not available with API token, need proper ticket.\n)", 'ROOT_ONLY'],
  ["Permission check failed (pool 'nosuch' does not exist)", 'NOT_FOUND pool'],
  ['403 Permission check failed (/storage/local2, Datastore.AllocateSpace)', 'PRIVILEGE_MISSING'],
  ['Permission denied - invalid csrf token', 'TICKET_EXPIRED'],
  ['Authentication failed!', 'LOGIN_REFUSED'],
  ["Configuration file 'nodes/pve1/qemu-server/4711.conf' does not exist", 'NOT_FOUND guest'],
  ["unable to find configuration file for VM 4711 on node 'pve1'", 'NOT_FOUND guest'],
  [
    "hostname lookup 'nosuch' failed - failed to get address info for: nosuch: Temporary failure in name resolution",
    'NOT_FOUND node',
  ],
  ["unable to create VM 213 - storage 'nosuch' does not exist", 'NOT_FOUND storage'],
  ["unable to create VM 213 - volume 'local:iso/nosuch.iso' does not exist", 'NOT_FOUND volume'],
  ["disk 'scsi9' does not exist", 'NOT_FOUND disk'],
  ["snapshot 'nosuch' does not exist", 'NOT_FOUND snapshot'],
  ['no such task', 'NOT_FOUND task'],
  ["PCI device mapping not found for 'other'", 'NOT_FOUND mapping'],
  ["bridge 'vmbr9' does not exist", 'NOT_FOUND other'],
  ['VM 507 already running', 'ALREADY_RUNNING'],
  ['VM 331 not running', 'NOT_RUNNING'],
  ["disk image '/var/lib/vz/images/326/vm-326-cloudinit.qcow2' already exists", 'ALREADY_EXISTS'],
  ["create hardware mapping failed: pci ID 'gpu' already defined", 'ALREADY_EXISTS'],
  ["create ha rule failed: 400 Rule 'solo' is invalid.", 'PARAMETER_REJECTED'],
  ["update HA rules failed: 400 Rule 'solo' is invalid.", 'PARAMETER_REJECTED'],
  ["create ha rule failed: HA rule 'solo' already defined", 'ALREADY_EXISTS'],
  ["update HA rules failed: HA rule 'solo' does not exist", 'NOT_FOUND other'],
  ["service 'vm:3214' in error state, must be disabled and fixed first", 'PARAMETER_REJECTED'],
  ["can't remove VM 338 - protection mode enabled", 'PROTECTED'],
  ["base volume 'tank:base-9000-disk-0' is still in use by linked cloned", 'IN_USE'],
  ['No QEMU guest agent configured', 'AGENT_UNAVAILABLE'],
  ['QEMU guest agent is not running', 'AGENT_UNAVAILABLE'],
  ["VM 101 qga command 'guest-network-get-interfaces' failed - got timeout", 'AGENT_UNAVAILABLE'],
  ["checksum mismatch: got '1f' != expect '2e', aborting", 'FILE_DIFFERS'],
  ["checksum mismatch: got '1f' != expect '2e'", 'CHECKSUM_MISMATCH'],
  ["download failed: Cannot write to '/var/lib/vz/import/a.qcow2.tmp_dwnl.7' (No space left on device).", 'NO_SPACE'],
  ["download failed: wget: unable to resolve host address 'cloud.example'", 'DOWNLOAD_FAILED'],
  ['download failed: exit code 8', 'DOWNLOAD_FAILED'],
  ['download failed: exit code 5', 'DOWNLOAD_FAILED'],
  ['download failed: exit code 4', 'DOWNLOAD_FAILED'],
  ['download failed: Connecting to 10.0.0.9:443... failed: Connection refused.', 'DOWNLOAD_FAILED'],
  ["qemu-img: Could not open '/var/tmp/pveupload-0a': Image is not in qcow2 format", 'IMAGE_REFUSED'],
  ["qemu-img: Could not open '/var/lib/vz/images/100/vm-100-disk-0.qcow2': Permission denied", 'SERVER_FAULT'],
  ["qemu-img: Could not open '/var/lib/vz/images/100/vm-100-disk-0.raw': No such file or directory", 'SERVER_FAULT'],
  ['decompression not supported for import', 'IMAGE_REFUSED'],
  ['qemu-img: error while writing at byte 67108864: No space left on device', 'NO_SPACE'],
  ["Method 'GET /nosuch' not implemented", 'NOT_IMPLEMENTED'],
  ["invalid bootorder: device 'scsi9' does not exist'", 'PARAMETER_REJECTED'],
];

/** Codes that require an action which the code alone does not name. */
const NEED_HINTS: ReadonlySet<string> = new Set([
  'CHECKSUM_MISMATCH',
  'CONFIG_CHANGED',
  'CONFIG_LOCKED',
  'DOWNLOAD_FAILED',
  'GUEST_LOCKED',
  'IMAGE_REFUSED',
  'IN_USE',
  'NO_QUORUM',
  'NO_SPACE',
  'PROTECTED',
  'ROOT_ONLY',
]);

describe('a phrase', () => {
  it.each(MEANINGS)('%j means %s', (text, meaning) => {
    const { code, subject } = findPhrase(text) ?? {};
    expect([code, subject].filter((each) => each !== undefined).join(' ')).toBe(meaning);
  });

  it('is listed here with its meaning', () => {
    const stated = new Set(MEANINGS.map(([text]) => findPhrase(text)));
    expect(PHRASES.filter((phrase) => !stated.has(phrase))).toEqual([]);
  });

  it.each(PHRASES)('names the emitter of $sample', ({ source }) => {
    expect(source).toMatch(/^(pve-|qemu-|wget|the message of ENOSPC).+/);
  });

  it.each(PHRASES.filter(({ code, hint }) => NEED_HINTS.has(code) || hint !== undefined))(
    'says what to do about $sample',
    ({ hint }) => {
      expect(hint && toHint(hint)?.text).toMatch(/^\w.{10,}/);
    },
  );
});

describe('what the server puts in front of a phrase', () => {
  it.each([
    '500 ',
    'clone failed: ',
    'start failed: ',
    'storage migration failed: ',
    'unable to create VM 101 - ',
    'failed to update VM 101: ',
    'unable to apply pending change net0 : ',
    'hotplug problem - ',
    "can't add VM 101 to pool 'dev': ",
    'access permissions cleanup for VM 101 failed: ',
    'create pool failed: ',
    'delete hardware mapping failed: ',
    'update resources config failed: ',
    'scsi0 - ',
    'import failed: ',
    'clone failed: unable to create VM 101 - ',
  ])('is skipped: %j', (prefix) => {
    expect(findPhrase(`${prefix}VM is locked (backup)`)?.code).toBe('GUEST_LOCKED');
  });

  it.each(['the hook said: ', '700 ', 'xscsi0 - ', 'unable to create VM x - '])(
    'must be a known prefix: %j',
    (prefix) => {
      expect(findPhrase(`${prefix}VM is locked (backup)`)).toBeUndefined();
    },
  );
});

describe('a full disk', () => {
  it('is recognised at the end of a text only, alone or behind a colon', () => {
    expect(findPhrase('No space left on device')?.code).toBe('NO_SPACE');
    expect(findPhrase('No space left on device, it seems')).toBeUndefined();
    expect(findPhrase('I see No space left on device')).toBeUndefined();
    expect(findPhraseInLog(['  write failed: No space left on device  '])?.code).toBe('NO_SPACE');
  });
});
