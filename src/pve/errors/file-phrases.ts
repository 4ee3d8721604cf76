/** Messages of the server about files that are transferred into a storage: part of the table of phrases. */
import { exact, type Phrase } from './phrase.ts';

export const FILE_PHRASES: readonly Phrase[] = [
  {
    code: 'FILE_DIFFERS',
    pattern: exact("checksum mismatch: got '[0-9a-f]*' != expect '[0-9a-fA-F]*', aborting"),
    sample: "checksum mismatch: got '1f' != expect '2e', aborting",
    source: 'pve-common Tools.pm download_file_from_url, for a file that already exists',
  },
  {
    code: 'CHECKSUM_MISMATCH',
    pattern: exact("checksum mismatch: got '[0-9a-f]*' != expect '[0-9a-fA-F]*'$"),
    sample: "checksum mismatch: got '1f' != expect '2e'",
    source: 'pve-common Tools.pm download_file_from_url; pve-storage API2/Storage/Status.pm upload',
    hint: 'The file does not have the declared checksum. Compare it with the list of checksums next to the image.',
  },
  {
    code: 'NO_SPACE',
    pattern: exact(String.raw`download failed: Cannot write to '[^']+' \(No space left on device\)\.?$`),
    sample: "download failed: Cannot write to '/var/lib/vz/import/a.qcow2.tmp_dwnl.7' (No space left on device).",
    source: 'wget, passed on by pve-common Tools.pm download_file_from_url',
    hint: 'Free space on the storage, or choose another one.',
  },
  {
    code: 'DOWNLOAD_FAILED',
    pattern: exact(
      'download failed: wget: unable to resolve host address |download failed: .*Name or service not known',
    ),
    sample: "download failed: wget: unable to resolve host address 'cloud.example'",
    source: 'wget, passed on by pve-common Tools.pm download_file_from_url',
    hint: 'The node cannot resolve this host name. Check the URL and, on the node, /etc/resolv.conf; or let Proxwright download and upload the image: via: upload.',
  },
  {
    code: 'DOWNLOAD_FAILED',
    pattern: exact('download failed: exit code 8$'),
    sample: 'download failed: exit code 8',
    source: 'wget: the server refused the request; its status is in the log of the task',
    hint: 'The web server responded with an error. Open the URL in a browser; images of old releases are often moved or removed.',
  },
  {
    code: 'DOWNLOAD_FAILED',
    pattern: exact('download failed: (?:exit code 5$|.*certificate)'),
    sample: 'download failed: exit code 5',
    source: 'wget: the certificate of the web server was not accepted',
    hint: 'The node does not trust the certificate of the web server. Check the clock of the node and its ca-certificates.',
  },
  {
    code: 'DOWNLOAD_FAILED',
    pattern: exact('download failed: exit code 4$'),
    sample: 'download failed: exit code 4',
    source: 'wget: the network failed, before the first byte or after many; the log of the task shows where',
    hint: 'The connection of the node failed repeatedly. Apply again; if it fails again, let Proxwright download and upload the image, which can resume: via: upload.',
  },
  {
    code: 'DOWNLOAD_FAILED',
    pattern: exact('download failed: '),
    sample: 'download failed: Connecting to 10.0.0.9:443... failed: Connection refused.',
    source: 'wget, passed on by pve-common Tools.pm download_file_from_url',
    hint: 'The node cannot reach the web server. Set the proxy of the datacenter, or let Proxwright download and upload the image: via: upload.',
  },
  {
    code: 'SERVER_FAULT',
    pattern: exact("qemu-img: Could not open '[^']+/images/[0-9]+/[^']+': .*No such file or directory"),
    sample:
      "qemu-img: Could not open '/var/lib/vz/images/100/vm-100-disk-0.raw': Could not open '/var/lib/vz/images/100/vm-100-disk-0.raw': No such file or directory",
    source: 'pve-storage Storage/Plugin.pm list_images, while another client removes the disk',
    hint: 'A disk was removed while Proxmox listed its storage. Run the command again.',
    passes: true,
  },
  {
    code: 'SERVER_FAULT',
    pattern: exact("qemu-img: Could not open '[^']+/images/[0-9]+/[^']+': "),
    sample: "qemu-img: Could not open '/var/lib/vz/images/100/vm-100-disk-0.qcow2': Permission denied",
    source: 'pve-storage Storage/Plugin.pm list_images, which asks qemu-img about every disk of a directory',
    hint: 'Proxmox cannot read this disk of a VM, and therefore lists nothing of its storage. On the node, see what `qemu-img info` says about the file.',
  },
  {
    code: 'IMAGE_REFUSED',
    pattern: exact(
      "(?:failed to verify file: )?qemu-img: Could not open '[^']+': |failed to verify file: |command 'tar -t -f [^']+' failed: ",
    ),
    sample: "qemu-img: Could not open '/var/tmp/pveupload-0a': Image is not in qcow2 format",
    source: 'pve-storage API2/Storage/Status.pm upload, download_url; Storage.pm file_size_info',
    hint: 'The extension of the file name must match its format: .qcow2, .raw, .vmdk or .ova. Use .raw for raw images, and unpack compressed files.',
  },
  {
    code: 'IMAGE_REFUSED',
    pattern: exact('decompression not supported for |no decompression method found'),
    sample: 'decompression not supported for import',
    source: 'pve-storage API2/Storage/Status.pm download_url',
    hint: 'Proxmox unpacks only CD images, and no .xz. Let Proxwright download, unpack and upload the image: via: upload.',
  },
];
