/** A description of each kind of fault, with an example rule. docs/simulator.md has the same texts. */
import type { FaultKind } from './rule.ts';

export interface FaultDescription {
  readonly words: string;
  /** A rule in the short form that shows it to a client that creates a VM. */
  readonly example: string;
}

export const FAULT_DESCRIPTIONS: Readonly<Record<FaultKind, FaultDescription>> = {
  lock: {
    words: "another process holds the flock of the VM's configuration file for a while",
    example: 'lock:qemu/*/config@1~15s',
  },
  'storage-lock': { words: 'another process holds the lock of a storage', example: 'storage-lock=local-lvm@1~15s' },
  'users-lock': {
    words: 'another process holds the lock of the user configuration',
    example: 'users-lock@1~15s',
  },
  refuse: { words: 'the request is answered with an error and not executed', example: 'refuse=500:POST@10%' },
  unreachable: {
    words: '595: the node or its daemon cannot be reached; not executed',
    example: 'unreachable:POST@1x3',
  },
  'proxy-timeout': { words: '596 after 30 s; the work continues', example: 'proxy-timeout:clone@1' },
  'cut-before': {
    words: 'the connection ends before the request arrives',
    example: 'cut-before:POST@1x3',
  },
  'cut-after': {
    words: 'the request is executed, and the connection ends before the answer',
    example: 'cut-after:POST clone@1',
  },
  'task-fail': {
    words: 'a task fails at a percentage of its progress; 0 does nothing first, 100 does everything first',
    example: 'task-fail=40:qmclone@1',
  },
  'task-warn': { words: 'a task ends with `WARNINGS: 1`', example: 'task-warn:qmstart' },
  'task-unknown': {
    words: 'the status endpoint does not know a task that has just started',
    example: 'task-unknown~2s',
  },
  'download-fail': {
    words:
      'a download of a node fails: `unresolvable`, `refused`, `status`, `cut` (at a percentage, for good), `cut-once` (wget resumes it) or `content` (other bytes arrive)',
    example: 'download-fail=cut@1',
  },
  'download-stall': {
    words: 'no data arrives for a while, from a percentage on',
    example: 'download-stall=50@1~1m',
  },
  'upload-cut': {
    words: 'the connection ends when that much of an upload has arrived',
    example: 'upload-cut=50@1',
  },
  'upload-stall': { words: 'the server stops reading an upload for a while', example: 'upload-stall=50@1~1m' },
  'ticket-expired': {
    words: 'the login ticket is refused from now on; a new login helps',
    example: 'ticket-expired@1',
  },
  'daemon-down': {
    words: 'the API daemon restarts: protected calls are answered 595 for a while',
    example: 'daemon-down@1~10s',
  },
  'disk-full': {
    words: 'the file system below a storage is full for a while',
    example: 'disk-full=local-lvm@1~30s',
  },
  'agent-silent': { words: 'the guest agent does not answer for a while', example: 'agent-silent@1~1m' },
  'stranger-edit': {
    words: "another client edits the VM's configuration just before the request",
    example: 'stranger-edit:PUT qemu/*/config@1',
  },
  'stranger-lock': {
    words: "a task of another client sets the VM's `lock` property",
    example: 'stranger-lock=backup:qemu/*/config@1~1m',
  },
  'stranger-id': {
    words: 'another client takes the id that the request was about to use',
    example: 'stranger-id:clone@1',
  },
};
