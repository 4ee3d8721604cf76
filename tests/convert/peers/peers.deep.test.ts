/** Estates that the real other providers make, converted: nothing is replaced, nothing is sent, nothing stays behind. */
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ONE_HOST } from '../../provider/terraform/support/hosts.ts';
import { findPeers } from './peers.ts';
import { takeOver } from './taken-over.ts';

/** `PROXWRIGHT_ESTATES_OF_PEERS`: names of estates, or "all". Otherwise one of each provider. */
const { PROXWRIGHT_ESTATES_OF_PEERS: selection = 'bpg-estate,telmate-estate' } = process.env;
const ESTATES = resolve(import.meta.dirname, 'estates');
const peers = await findPeers();

describe.each(ONE_HOST)('an estate of another provider under $name $version', (host) => {
  const chosen = readdirSync(ESTATES).filter((name) => selection === 'all' || selection.split(',').includes(name));
  const isHere = (name: string) => peers.some((peer) => peer.name === name);
  /** By one provider, or by both. */
  const isMadeHere = (name: string) =>
    name.split('-').every((word) => isHere(word) || !['bpg', 'telmate'].includes(word));
  it.for(chosen)('is taken over: %s', async (name, { skip }) => {
    skip(!isMadeHere(name), 'its provider is not here');
    const result = await takeOver({ host, peers, estate: join(ESTATES, name, 'tree'), asRoot: name.endsWith('-root') });
    const { findings, planned, plansAfter, leftOver, made } = result;
    // A snippet that becomes user-data goes onto a drive, which an apply writes. Nothing else is sent.
    const isDrive = (line: string) =>
      hasSnippets && /^(POST|PUT) \/nodes\/pve1\/(storage\/local\/upload|qemu\/\d+\/config) /.test(line);
    const hasSnippets = name.endsWith('-snippets');
    const written = result.written.filter((line) => !isDrive(line));
    const changedVms = hasSnippets ? [] : result.changedVms;
    expect({
      // What becomes another resource by an import is forgotten by its former provider.
      otherThanInPlace: planned.filter(({ actions }) => !['update', 'forget'].includes(actions.join())),
      written,
      changedVms,
      plansAfter,
      leftOver,
    }).toEqual({ otherThanInPlace: [], written: [], changedVms: [], plansAfter: [0, 0], leftOver: [] });
    expect(made).toBeGreaterThan(0);
    const inPlace = planned
      .filter(({ actions }) => actions.join() === 'update')
      .map(({ address, changed }) => `${address}: ${changed.join(', ')}`)
      .sort();
    const report = ['Findings:', ...findings, '', 'Changed in place, with nothing sent:', ...inPlace, ''].join('\n');
    await expect(report).toMatchFileSnapshot(join(ESTATES, name, 'report.txt'));
  });
});
