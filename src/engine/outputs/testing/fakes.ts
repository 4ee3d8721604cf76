/**
 * Fakes of the programs that hand-over scripts call: they log their arguments and behave like small clusters. An SSH target
 * is a folder for each machine, in which the script really runs.
 */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HEAD = `#!/usr/bin/env bash
printf '%s' "$(basename "$0")" >>"$FAKE/log"; printf ' %s' "$@" >>"$FAKE/log"; printf '\\n' >>"$FAKE/log"
refuse() { echo "$*" >&2; exit 1; }
`;

const TALOSCTL = `${HEAD}
args=("$@") nodes='' file='' out='' words=()
for ((i = 0; i < \${#args[@]}; i++)); do
  case \${args[i]} in
    --nodes) nodes=\${args[++i]} ;;
    --file) file=\${args[++i]} ;;
    --output | --output-file) out=\${args[++i]} ;;
    --talosconfig | --endpoints | --with-secrets | --config-patch | --patch) ((++i)) ;;
    --*) ;;
    *) words+=("\${args[i]}") ;;
  esac
done
case "\${words[*]}" in
  'gen secrets') echo secret >"$out" ;;
  'gen config '*)
    mkdir -p "$out"
    echo "endpoint: \${words[3]}" | tee "$out/controlplane.yaml" "$out/worker.yaml" >"$out/talosconfig" ;;
  'config '*) ;;
  version) [ -e "$FAKE/configured-$nodes" ] || refuse 'tls: unknown authority' ;;
  apply-config*)
    [ ! -e "$FAKE/configured-$nodes" ] || refuse 'tls: certificate required'
    [ ! -e "$FAKE/booting-$nodes" ] || { rm "$FAKE/booting-$nodes"; refuse 'connection refused'; }
    [ ! -e "$FAKE/dead-$nodes" ] || refuse 'no route to host'
    basename "$file" >"$FAKE/configured-$nodes" ;;
  'etcd members') [ -e "$FAKE/etcd" ] && [ ! -e "$FAKE/etcd-away" ] || refuse 'etcd is not running' ;;
  'patch machineconfig') [ ! -e "$FAKE/unpatchable-$nodes" ] || refuse 'permission denied' ;;
  bootstrap) [ ! -e "$FAKE/etcd" ] || refuse 'AlreadyExists'; : >"$FAKE/etcd" ;;
  'kubeconfig '*) echo kubeconfig >"\${words[1]}" ;;
  *) refuse "unknown: \${words[*]}" ;;
esac
`;

/** Paths below /etc and /var/lib are redirected to the folder of the machine. */
const SSH = `${HEAD}
target='' command=''
while [ $# -gt 0 ]; do
  case $1 in
    -o) shift ;;
    --) shift; target=$1 ;;
    -*) refuse "took $1 for an option" ;;
    *) if [ -z "$target" ]; then target=$1; else command=$1; fi ;;
  esac
  shift
done
export MACHINE="$FAKE/machines/\${target##*@}"
[ ! -e "$MACHINE.dead" ] || { echo 'no route to host' >&2; exit 255; }
mkdir -p "$MACHINE"
PATH="$FAKE/remote:$PATH" sed -e "s#/etc/#$MACHINE/etc/#g; s#/var/lib/#$MACHINE/var/lib/#g" |
  PATH="$FAKE/remote:$PATH" sh -c "$command"
`;

const REMOTE = {
  id: '#!/bin/sh\necho 0\n',
  systemctl: '#!/bin/sh\n[ "$1 $2" = "is-active --quiet" ] && [ -e "$MACHINE/$3.runs" ]\n',
  // Downloads an installer that logs its arguments.
  curl: `#!/bin/sh
[ ! -e "$MACHINE/offline" ] || exit 22
cat <<'END'
echo "\${INSTALL_K3S_VERSION:-stable} $*" >>"$MACHINE/installs"
case $1 in server) unit=k3s ;; *) unit=k3s-agent ;; esac
mkdir -p "$MACHINE/var/lib/rancher/k3s/server/db" "$MACHINE/etc/rancher/k3s"
echo 'server: https://127.0.0.1:6443' >"$MACHINE/etc/rancher/k3s/k3s.yaml"
: >"$MACHINE/$unit.runs"
END
`,
  k3s: '#!/bin/sh\n[ "$2" != label ] || echo "$*" >>"$MACHINE/labels"\necho ok\n',
};

const KUBECTL = `${HEAD}
case "$1 $2" in
  'get nodes') cat "$FAKE/nodes" ;;
  'rollout status') ;;
  *) refuse "unknown: $*" ;;
esac
`;

const HELM = `${HEAD}
case $1 in
  status) [ -e "$FAKE/release-$2" ] || refuse 'release: not found'; echo 'STATUS: deployed' ;;
  upgrade) [ ! -e "$FAKE/broken-$3" ] || refuse 'timed out waiting'; : >"$FAKE/release-$3" ;;
  *) refuse "unknown: $*" ;;
esac
`;

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory for running scripts, with the fakes on PATH. */
export class FakeCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'proxwright-hand-over-'));

  constructor() {
    this.#program('bin', 'talosctl', TALOSCTL);
    this.#program('bin', 'ssh', SSH);
    this.#program('bin', 'kubectl', KUBECTL);
    this.#program('bin', 'helm', HELM);
    for (const [name, text] of Object.entries(REMOTE)) this.#program('remote', name, text);
    mkdirSync(join(this.folder, 'machines'));
  }

  #program(folder: string, name: string, text: string): void {
    mkdirSync(join(this.folder, folder), { recursive: true });
    writeFileSync(join(this.folder, folder, name), text);
    chmodSync(join(this.folder, folder, name), 0o755);
  }

  /** Creates a file that changes the behaviour of a fake. */
  mark(path: string, text = ''): void {
    mkdirSync(join(this.folder, path, '..'), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  unmark(path: string): void {
    rmSync(join(this.folder, path), { recursive: true });
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  /** Calls of the fakes since the last time. */
  asked(): string[] {
    const lines = this.has('log') ? this.read('log').split('\n') : [];
    rmSync(join(this.folder, 'log'), { force: true });
    return lines.filter((line) => line !== '').map((line) => line.replaceAll(`${this.folder}/`, ''));
  }

  /** Files of a folder that git would add. */
  committable(folder: string): string[] {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: this.folder, encoding: 'utf8' });
    git('init', '-q');
    const lines = git('ls-files', '--others', '--exclude-standard', folder).split('\n');
    return lines.filter((line) => line !== '').map((line) => line.slice(folder.length + 1));
  }

  run(script: string, settings: Readonly<Record<string, string>> = {}): Promise<Ended> {
    writeFileSync(join(this.folder, 'script.sh'), script);
    const env = {
      PATH: `${join(this.folder, 'bin')}:/usr/bin:/bin`,
      FAKE: this.folder,
      PAUSE_SECONDS: '0',
      ...settings,
    };
    return new Promise((resolve) => {
      execFile('bash', ['script.sh'], { cwd: this.folder, env }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      });
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
