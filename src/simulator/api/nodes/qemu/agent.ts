/** …/agent: talking to the guest agent. Order and texts of the refusals are the server's; the answers are the guest's. */
import type { Call, CallTo, Handler, Routes } from '../../../core/call.ts';
import { type AgentSession, agentCommand, executionStatus, startExecution } from '../../../guests/agent.ts';
import { agentUpAt, guestState } from '../../../guests/guest.ts';
import { readGuestFile, writeGuestFile } from '../../../guests/programs.ts';
import { ApiFault, dieFault } from '../../../http/response.ts';
import { loadVm } from '../../../vm/config/config-file.ts';
import { AGENT_PING_WAIT_MS, pressPowerButton } from '../../../vm/power/power.ts';
import { suspendProcess } from '../../../vm/power/suspend.ts';
import type { Vm } from '../../../world/world.ts';
import { indexOf } from '../../indexes.ts';

const BASE = '/nodes/{node}/qemu/{vmid}/agent';
const GET_COMMANDS =
  'get-fsinfo get-host-name get-memory-block-info get-memory-blocks get-osinfo get-time get-timezone get-users get-vcpus info network-get-interfaces'.split(
    ' ',
  );
const POST_COMMANDS =
  'fsfreeze-freeze fsfreeze-status fsfreeze-thaw fstrim ping shutdown suspend-disk suspend-hybrid suspend-ram'.split(
    ' ',
  );
const OTHER_COMMANDS = ['exec', 'exec-status', 'file-read', 'file-write', 'set-user-password'];

/** Rule [recorded guest-agent]: each exchange with the agent takes about a tenth of a second under emulation. */
const EXCHANGE_MS = 60;
const MISSING_PROGRAM_MS = 5_000;
const LARGEST_READ_BYTES = 16 * 1024 * 1024;

type VmCall = Call<{ readonly vmid: number }>;

export const agentRoutes: Routes = {
  // Rule [recorded unknown-vm]: the list does not look whether the VM exists.
  'GET /nodes/{node}/qemu/{vmid}/agent': () =>
    indexOf('name', [...GET_COMMANDS, ...POST_COMMANDS, ...OTHER_COMMANDS].sort()),
  'POST /nodes/{node}/qemu/{vmid}/agent': (call) => generic(call, call.params.command),
  ...generated('GET', GET_COMMANDS),
  ...generated('POST', POST_COMMANDS),
  'POST /nodes/{node}/qemu/{vmid}/agent/exec': execute,
  'GET /nodes/{node}/qemu/{vmid}/agent/exec-status': readExecution,
  'GET /nodes/{node}/qemu/{vmid}/agent/file-read': readFile,
  'POST /nodes/{node}/qemu/{vmid}/agent/file-write': writeFile,
  'POST /nodes/{node}/qemu/{vmid}/agent/set-user-password': setPassword,
};

/** Rule [observed 9.2.11]: a guest knows root and the user that cloud-init created; for any other user its own tool fails. */
async function setPassword(
  call: CallTo<'POST /nodes/{node}/qemu/{vmid}/agent/set-user-password'>,
): Promise<{ result: unknown }> {
  const { vm } = await openSession(call);
  const username = call.params.username;
  if (username === 'root' || username === vm.config.current.get('ciuser')) return { result: {} };
  throw dieFault(
    `Agent error: child process has failed to set user password: chpasswd: (user ${username}) pam_chauthtok() failed, ` +
      `error:\nAuthentication token manipulation error\nchpasswd: (line 1, user ${username}) password not changed\n\n`,
  );
}

function generated(method: string, commands: readonly string[]): Record<string, Handler<{ readonly vmid: number }>> {
  return Object.fromEntries(
    commands.map((command) => [`${method} ${BASE}/${command}`, (call: VmCall) => generic(call, command)]),
  );
}

async function generic(call: VmCall, command: string): Promise<{ result: unknown }> {
  return { result: agentCommand(await openSession(call), command) };
}

/** Rule [recorded agent-errors]: configuration, `agent` key, process, a ping of 3 s — in this order. */
async function openSession(call: VmCall): Promise<AgentSession> {
  const { runtime } = call;
  const vm = loadVm(runtime.world, call.node, call.params.vmid);
  if (!vm.config.current.has('agent')) throw dieFault('No QEMU guest agent configured');
  if (!vm.process) throw dieFault(`VM ${vm.vmid} is not running`);
  if (!(await ping(call, vm)) || !vm.process) throw dieFault('QEMU guest agent is not running');
  const { process } = vm;
  return {
    runtime,
    vm,
    process,
    power: {
      off: () => pressPowerButton(runtime, vm, process),
      sleep: () => suspendProcess(runtime, process, 'suspended'),
    },
  };
}

/**
 * Rule [source QS QMPClient.pm open_connection]: the agent's socket serves one client; the others wait their turn, and a client that
 * waits longer than the ping may take concludes that the agent is not there.
 *
 * Rule [recorded guest-agent]: a ping that is waiting when the agent comes up is answered then, because QEMU keeps it until
 * a program in the guest opens the channel. In the recording the first good answer came 1.6 s after its question.
 */
async function ping(call: Call, vm: Vm): Promise<boolean> {
  const { clock } = call.runtime;
  const now = clock.now();
  const upAt = Math.max(now, agentUpAt(vm.process) ?? now);
  const busyMs = Math.max(0, (vm.process?.agentBusyUntil ?? now) - now, upAt - now);
  if (busyMs + EXCHANGE_MS > AGENT_PING_WAIT_MS || !guestState(vm.process, now + busyMs).agentAnswers) {
    await clock.sleep(AGENT_PING_WAIT_MS);
    return false;
  }
  // Ping and the command itself are two exchanges.
  const doneAt = now + busyMs + 2 * EXCHANGE_MS;
  if (vm.process) vm.process.agentBusyUntil = doneAt;
  await clock.sleep(doneAt - now);
  return guestState(vm.process, doneAt).agentAnswers;
}

async function execute(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/agent/exec'>): Promise<{ pid: number }> {
  const session = await openSession(call);
  const pid = startExecution(session, call.params.command, call.params['input-data'] ?? '');
  if (pid === undefined) {
    // Rule [recorded guest-agent]: the agent's complaint has typographic quotes, the answer cannot be written, and the
    // proxy gives up on the broken connection.
    await call.runtime.clock.sleep(MISSING_PROGRAM_MS);
    throw new ApiFault(596, 'Broken pipe');
  }
  return { pid };
}

async function readExecution(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/agent/exec-status'>): Promise<unknown> {
  const session = await openSession(call);
  const status = executionStatus(session, call.params.pid);
  // Rule [recorded guest-agent]: the agent's own message has lost its number.
  if (!status) throw dieFault('Agent error: PID ld does not exist');
  return status;
}

/** Rule [source QS API2/Qemu/Agent.pm file-read]: `truncated` unless the agent met the end of the file. */
async function readFile(
  call: CallTo<'GET /nodes/{node}/qemu/{vmid}/agent/file-read'>,
): Promise<Record<string, unknown>> {
  const session = await openSession(call);
  const path = call.params.file;
  const content = readGuestFile(session.vm, session.process, path);
  if (content === undefined) {
    throw dieFault(`Agent error: failed to open file '${path}' (mode: 'r'): No such file or directory`);
  }
  const offset = call.params.offset ?? 0;
  const count = call.params.count ?? LARGEST_READ_BYTES;
  const bytes = Buffer.from(content).subarray(offset);
  const shown = bytes.subarray(0, count);
  return {
    content: shown.toString(call.params.decode === false ? 'base64' : 'utf8'),
    'bytes-read': shown.length,
    ...(count <= bytes.length ? { truncated: 1 } : {}),
  };
}

async function writeFile(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/agent/file-write'>): Promise<null> {
  const session = await openSession(call);
  const path = call.params.file;
  const content = call.params.content;
  const decoded = call.params.encode === false ? Buffer.from(content, 'base64').toString() : content;
  if (!writeGuestFile(session.vm, path, decoded)) {
    throw dieFault(`Agent error: failed to open file '${path}' (mode: 'wb'): No such file or directory`);
  }
  return null;
}
