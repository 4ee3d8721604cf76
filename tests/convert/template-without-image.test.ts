/** A template of the former provider whose disks come from nowhere: the plan would refuse it, so the report says so first. */
import { expect, it } from 'vitest';
import { convertFiles } from '../../src/convert/index.ts';

const template = (more: string) => `resource "proxmox_virtual_environment_vm2" "base" {
  name      = "base"
  id        = 812
  node_name = "pve1"
  template  = true
${more}}
`;

const reviewed = (text: string) =>
  convertFiles(new Map([['main.tf', text]]))
    .findings.filter(({ kind }) => kind === 'review')
    .map(({ line, what, why }) => `${line} ${what}: ${why}`);

it('reports the line of a template that says nothing about its system, and what to write', () => {
  expect(reviewed(template(''))).toEqual([
    expect.stringMatching(/^\d+ template: Nothing here says.*Give a disk an image/),
  ]);
});

it('reports nothing about a template whose disk has an image', () => {
  const disk = '  disk = { scsi0 = { datastore_id = "local-lvm", import_from = "local:import/debian-13.qcow2" } }\n';
  expect(reviewed(template(disk))).toEqual([]);
});
