/** Arguments of the scripts in this folder: `--help` prints the usage, and a wrong argument is one line, not a stack trace. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

export function toolArguments<Config extends ParseArgsConfig>(
  usage: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuseArguments(error instanceof Error ? error.message : String(error), usage);
  }
}

export function refuseArguments(reason: string, usage: string): never {
  console.error(`${reason}\n\n${usage}`);
  process.exit(1);
}
