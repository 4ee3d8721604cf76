/** Log messages of the inner layers. Front ends decide which levels to show, and how. */

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Logger {
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export const silentLogger: Logger = { log: () => {} };

export function isLogLevel(text: string): text is LogLevel {
  return LOG_LEVELS.some((level) => level === text);
}

/** Passes on messages of at least this level. */
export function atLevel(threshold: LogLevel, sink: Logger): Logger {
  const limit = LOG_LEVELS.indexOf(threshold);
  return {
    log: (level, message, fields) => {
      if (LOG_LEVELS.indexOf(level) <= limit) sink.log(level, message, fields);
    },
  };
}
