/**
 * The package as a library. Its parts are imported from `proxwright/pve`, `proxwright/engine` and `proxwright/simulator`;
 * this one has what they share: errors, diagnostics, and the interfaces to time and randomness.
 */
export { type Clock, systemClock } from './base/clock.ts';
export { type Diagnostic, formatDiagnostic, type Severity, type Where } from './base/diagnostics.ts';
export {
  type ErrorCode,
  type ErrorFamily,
  hasCode,
  isCanceled,
  isFamily,
  type Outcome,
  ProxwrightError,
  type Subject,
  toDiagnostic,
} from './base/errors.ts';
export type { Command, Hint, Setting, SettingValue } from './base/hint.ts';
export { type Logger, type LogLevel, silentLogger } from './base/log.ts';
export { type Random, seededRandom, systemRandom } from './base/random.ts';
export { redact, Secret } from './base/secret.ts';
export { type Transport, TransportFailure, type WireRequest, type WireResponse } from './base/transport.ts';
export { VirtualClock } from './base/virtual-clock.ts';
export { DirectoryStore } from './state/directory-store.ts';
export { MemoryStore } from './state/memory-store.ts';
export type { LockOwner, StateStore, StoreLock } from './state/store.ts';
