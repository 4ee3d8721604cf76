/**
 * GitHub and GitLab as far as the examples need them: stand-ins for `gh`, `curl` and `npm` that keep comments, issues and
 * artifacts in a file. What they are not prepared for is an error.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMAND } from '../../e2e/built-command.ts';

export interface Posted {
  readonly id: number;
  readonly author: string;
  readonly title?: string;
  readonly body: string;
  readonly isOpen: boolean;
}

export interface ForgeState {
  comments: Posted[];
  issues: Posted[];
  /** The saved plan. */
  artifact?: string;
  /** Whether the commit on the main branch came from a merge request. */
  isMerged: boolean;
  /** Of GitLab: pipelines run for the result of the merge, and keep their plan under another ref. */
  hasMergedResults?: boolean;
  calls: string[];
}

export interface Forge {
  /** Goes first into PATH. */
  readonly programs: string;
  readonly state: ForgeState;
  change(change: (state: ForgeState) => void): void;
  remove(): void;
}

export const US = 'github-actions[bot]';

export function openForge(): Forge {
  const programs = mkdtempSync(join(tmpdir(), 'proxwright-forge-'));
  const file = join(programs, 'forge.json');
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as ForgeState;
  const write = (state: ForgeState) => writeFileSync(file, JSON.stringify(state));
  write({ comments: [], issues: [], isMerged: true, calls: [] });
  const program = (name: string, text: string) => {
    writeFileSync(join(programs, name), text);
    chmodSync(join(programs, name), 0o755);
  };
  program('proxwright', `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`);
  program('npm', `#!/bin/sh\n[ "$*" = 'install --global proxwright' ]\n`);
  for (const [name, answer] of [
    ['gh', GH],
    ['curl', CURL],
  ] as const) {
    program(name, `#!${process.execPath}\n${COMMON.replaceAll('FORGE_FILE', JSON.stringify(file))}${answer}`);
  }
  return {
    programs,
    get state() {
      return read();
    },
    change: (change) => {
      const state = read();
      change(state);
      write(state);
    },
    remove: () => rmSync(programs, { recursive: true, force: true }),
  };
}

/** The programs are plain JavaScript, because they run on their own. */
const COMMON = `
const fs = require('node:fs');
const state = JSON.parse(fs.readFileSync(FORGE_FILE, 'utf8'));
const args = process.argv.slice(2);
state.calls.push(args.join(' '));
const end = (answer) => {
  fs.writeFileSync(FORGE_FILE, JSON.stringify(state));
  if (answer !== undefined) fs.writeSync(1, typeof answer === 'string' ? answer : JSON.stringify(answer));
  process.exit(0);
};
const refuse = (why) => { fs.writeSync(2, 'forge: ' + why + ': ' + args.join(' ') + '\\n'); process.exit(22); };
const valueOf = (name) => args.includes(name) ? args[args.indexOf(name) + 1] : undefined;
const contentOf = (text) => text.startsWith('@') ? fs.readFileSync(text.slice(1), 'utf8') : text;
const short = (text, most) => text.length > most ? refuse('the text is too long') : text;
const nextId = (list) => 100 + list.length;
const edit = (list, id, change) => {
  const at = list.findIndex((each) => each.id === Number(id));
  if (at < 0) refuse('no such thing');
  list[at] = { ...list[at], ...change };
};
`;

const GH = `
const token = process.env.GH_TOKEN;
if (token !== 'job-token') refuse('no token');
const bodyOf = () => short(contentOf(valueOf('--field').replace(/^body=/, '')), 65536);
const bodyFile = () => short(fs.readFileSync(valueOf('--body-file'), 'utf8'), 65536);
const author = 'github-actions[bot]';
if (args[0] === 'api') {
  const path = args.find((word) => word.startsWith('repos/'));
  const method = valueOf('--method') ?? 'GET';
  const [, comment] = /^repos\\/acme\\/lab\\/issues\\/comments\\/(\\d+)$/.exec(path) ?? [];
  if (method === 'GET' && path === 'repos/acme/lab/issues/12/comments?per_page=100') {
    const pages = state.comments.map(({ id, author: login, body }) => [{ id, user: { login }, body }]);
    end(args.includes('--slurp') ? pages : pages.flat());
  }
  if (method === 'PATCH' && comment) { edit(state.comments, comment, { body: bodyOf() }); end(); }
  if (method === 'POST' && path === 'repos/acme/lab/issues/12/comments') {
    state.comments.push({ id: nextId(state.comments), author, body: bodyOf(), isOpen: true });
    end();
  }
  if (method === 'GET' && path === 'repos/acme/lab/commits/merge-sha/pulls') {
    end(state.isMerged ? [{ head: { sha: 'head-sha' } }] : []);
  }
}
const command = args.slice(0, 2).join(' ');
if (command === 'run list' && valueOf('--commit') === 'head-sha') end(state.artifact ? [{ databaseId: 5 }] : []);
if (command === 'run download' && args[2] === '5' && valueOf('--name') === 'plan') {
  fs.writeFileSync('plan.json', state.artifact);
  end();
}
if (command === 'issue list') end(state.issues.filter(({ isOpen }) => isOpen).map(({ id, title }) => ({ number: id, title })));
if (command === 'issue create') {
  const body = bodyFile();
  state.issues.push({ id: nextId(state.issues), author, title: valueOf('--title'), body, isOpen: true });
  end();
}
if (command === 'issue edit') { edit(state.issues, args[2], { body: bodyFile() }); end(); }
if (command === 'issue close') { edit(state.issues, args[2], { isOpen: false }); end(); }
refuse('not expected');
`;

const CURL = `
if (!args.includes('PRIVATE-TOKEN: project-token') || !args.includes('--fail')) refuse('no token, or failures are not noticed');
const url = new URL(args.find((word) => word.startsWith('https://')));
const method = args.includes('--get') ? 'GET' : (valueOf('--request') ?? 'GET');
const data = {};
args.forEach((word, index) => {
  if (args[index - 1] !== '--data-urlencode') return;
  const [, name, sign, value] = /^(\\w+)([=@])([^]*)$/.exec(word);
  data[name] = short(contentOf((sign === '@' ? '@' : '') + value), 1048576);
});
const path = url.pathname.replace('/api/v4/projects/7', '').replace('/api/v4', '');
const answer = (value) => {
  const file = valueOf('--output');
  if (file === undefined) end(value);
  if (file !== '/dev/null') fs.writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  end();
};
const author = 'github-actions[bot]';
const [, note] = /^\\/merge_requests\\/12\\/notes\\/(\\d+)$/.exec(path) ?? [];
const [, issue] = /^\\/issues\\/(\\d+)$/.exec(path) ?? [];
if (method === 'GET' && path === '/user') answer({ id: 1 });
if (method === 'GET' && path === '/merge_requests/12/notes') {
  answer(state.comments.map((each) => ({ id: each.id, author: { id: each.author === author ? 1 : 2 }, body: each.body })));
}
if (method === 'POST' && path === '/merge_requests/12/notes') {
  state.comments.push({ id: nextId(state.comments), author, body: data.body, isOpen: true });
  answer({});
}
if (method === 'PUT' && note) { edit(state.comments, note, { body: data.body }); answer({}); }
if (method === 'GET' && path === '/repository/commits/merge-sha/merge_requests') {
  answer(state.isMerged ? [{ iid: 12, state: 'merged' }] : []);
}
const [, ref] = /^\\/jobs\\/artifacts\\/refs%2Fmerge-requests%2F12%2F(head|merge)\\/raw\\/plan.json$/.exec(path) ?? [];
if (method === 'GET' && ref && url.searchParams.get('job') === 'plan') {
  if (!state.artifact || ref !== (state.hasMergedResults ? 'merge' : 'head')) refuse('404');
  answer(state.artifact);
}
if (method === 'GET' && path === '/issues') {
  answer(state.issues.filter(({ isOpen }) => isOpen).map(({ id, title }) => ({ iid: id, title })));
}
if (method === 'POST' && path === '/issues') {
  state.issues.push({ id: nextId(state.issues), author, title: data.title, body: data.description, isOpen: true });
  answer({});
}
if (method === 'PUT' && issue) {
  edit(state.issues, issue, data.state_event === 'close' ? { isOpen: false } : { body: data.description });
  answer({});
}
refuse('not expected');
`;
