/** Devices in every spelling of Telmate, and what must not become another device. */
import { describe, expect, it } from 'vitest';
import { convertFiles } from '../../src/convert/index.ts';

function converted(type: string, lines: string): { text: string; left: string[] } {
  const { changed, findings } = convertFiles(new Map([['main.tf', `resource "${type}" "a" {\n${lines}\n}\n`]]));
  const left = findings.filter(({ kind }) => kind === 'left').map(({ line, what }) => `${line} ${what}`);
  return { text: changed.get('main.tf') ?? '', left };
}

describe('devices of Telmate', () => {
  it('are named by a block for each slot and way', () => {
    const { text, left } = converted(
      'proxmox_vm_qemu',
      `  pcis {
    pci0 {
      mapping {
        mapping_id = "gpu"
        pcie       = true
      }
    }
    pci2 {
      raw {
        raw_id = "0000:01:00"
        rombar = false
      }
    }
  }
  usbs {
    usb1 {
      mapping {
        mapping_id = "stick"
        usb3       = true
      }
    }
    usb2 {
      spice {
        usb3 = true
      }
    }
    usb3 {
      port {
        port_id = "1-2"
        usb3    = true
      }
    }
  }`,
    );
    expect(text).toContain(`  pci = {
    hostpci0 = { mapping = "gpu", pcie = true }
    hostpci2 = { device = "0000:01:00", rom_bar = false }
  }
  usb = {
    usb1 = { mapping = "stick", usb3 = true }
    usb2 = { usb3 = true, spice = true }
  }
`);
    expect(text).not.toMatch(/^ +usb3 += \{/m);
    expect(left).toEqual(['29 port']);
  });

  it('have CPU flags in a list', () => {
    const flags =
      '    flags {\n      aes     = "on"\n      pcid    = "off"\n      pbpe1gb = "on"\n      ibpb    = ""\n    }';
    const { text, left } = converted('proxmox_vm_qemu', `  cpu {\n    cores = 2\n${flags}\n  }`);
    expect(text).toContain('flags = ["+aes", "-pcid", "+pdpe1gb"]');
    expect(left).toEqual([]);
  });
});

describe('the physical CD drive of the host', () => {
  it.each([
    ['disk', 'disk {\n    slot = "ide2"\n    type = "cdrom"\n    passthrough = true\n  }'],
    [
      'disks',
      'disks {\n    ide {\n      ide2 {\n        cdrom {\n          passthrough = true\n        }\n      }\n    }\n  }',
    ],
  ])('stays a comment in a block %s, and does not become an empty drive', (_, block) => {
    const { text, left } = converted('proxmox_vm_qemu', `  ${block}`);
    expect(text).not.toMatch(/^ *disks/m);
    expect(text).toContain('# passthrough = true');
    expect(left).toHaveLength(1);
  });
});

describe('a USB device of the host', () => {
  it.each([
    ['proxmox_virtual_environment_vm', 'host = "1-2"'],
    ['proxmox_vm_qemu', 'id      = 0\n    port_id = "1-2"'],
  ])('stays a comment of %s, whatever else its block says', (type, how) => {
    const { text, left } = converted(type, `  usb {\n    ${how}\n    usb3 = true\n  }`);
    expect(text).not.toMatch(/^ *usb/m);
    expect(text).toContain('# usb {');
    expect(left.length).toBeGreaterThan(0);
  });
});

describe('a CD drive of Telmate', () => {
  it('is none where its block is empty, and an empty one where a disk block says so', () => {
    const nested = converted(
      'proxmox_vm_qemu',
      '  disks {\n    sata {\n      sata0 {\n        cdrom {}\n      }\n    }\n  }',
    );
    expect(nested.text).not.toContain('sata0');
    expect(nested.left).toEqual([]);
    const single = converted('proxmox_vm_qemu', '  disk {\n    slot = "ide2"\n    type = "cdrom"\n  }');
    expect(single.text).toContain('ide2 = { iso = "none" }');
  });
});
