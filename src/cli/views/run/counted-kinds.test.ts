import { expect, it } from 'vitest';
import { countedKinds, partOf } from './counted-kinds.ts';

it('counts the resources of a run, kind by kind', () => {
  expect(countedKinds([])).toBe('0 VMs');
  expect(countedKinds(['vm.web[1]', 'vm.web[2]'])).toBe('2 VMs');
  expect(countedKinds(['image.a["n"]', 'vm.web', 'template.t-1.2'])).toBe('1 VM, 1 template and 1 image');
  expect(countedKinds(['template.t', 'retired.t["9000"]'])).toBe('1 template and 1 former template');
});

it('names every kind if a run is not about VMs alone', () => {
  expect(partOf(1, ['vm.web[1]', 'vm.web[2]'])).toBe('1 of 2 VMs');
  expect(partOf(1, ['image.a', 'vm.web', 'template.t'])).toBe('1 of 3 (1 VM, 1 template and 1 image)');
});
