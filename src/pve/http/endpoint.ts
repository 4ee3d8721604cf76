/** Where the API is: what people write for it, brought into one form. */
import { ProxwrightError } from '../../base/errors.ts';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** `https://host:port`, as shown to people. */
  readonly url: string;
}

const DEFAULT_PORT = 8006;

/** Accepts `https://host`, `host:8006`, a trailing slash and the `/api2/json` that other tools want. */
export function parseEndpoint(text: string): Endpoint {
  const trimmed = text.trim();
  if (/^http:/i.test(trimmed)) {
    throw badEndpoint(text, 'Proxmox answers on HTTPS only.', `Write https://${trimmed.slice('http://'.length)}`);
  }
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url?.protocol !== 'https:' || url.hostname === '') {
    throw badEndpoint(text, 'It is not the address of a server.');
  }
  if (url.username !== '' || url.password !== '') {
    // The text is left out on purpose: it contains what looks like a password.
    throw badEndpoint(`${url.protocol}//…@${url.host}`, 'Credentials do not belong into the endpoint.');
  }
  if (!/^\/(api2(\/(json|extjs))?\/?)?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw badEndpoint(
      text,
      `Nothing but /api2/json may follow the host, not "${url.pathname}${url.search}${url.hash}".`,
    );
  }
  // URL drops ":443" because it is the default of https; somebody who wrote it meant it (a reverse proxy).
  const port = url.port !== '' ? Number(url.port) : /:443(\/|$)/.test(withScheme) ? 443 : DEFAULT_PORT;
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port, url: `https://${url.hostname}:${port}` };
}

function badEndpoint(text: string, reason: string, hint = 'An endpoint looks like https://pve1.example.org:8006.') {
  return new ProxwrightError({ code: 'BAD_VALUE', detail: `The endpoint "${text}" cannot be used. ${reason}`, hint });
}
