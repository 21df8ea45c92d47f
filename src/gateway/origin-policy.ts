/** Which pages may talk to the gateway (BR-068): a browser names its page in `Origin`, other clients send none. */

export interface OriginPolicy {
  /** host the gateway listens on */
  host: string;
  port: number;
  /** exact origins, as `https://console.example` */
  allowedOrigins: readonly string[];
}

/** What a request says of its page and of the name it used. */
export interface RequestHeaders {
  origin?: string | undefined;
  host?: string | undefined;
}

/** Returns why the request is refused, or undefined when it may go on. */
export function refusedOrigin(headers: RequestHeaders, policy: OriginPolicy): string | undefined {
  const { origin, host } = headers;
  if (origin !== undefined && !isAllowedOrigin(origin, policy))
    return 'this origin may not use the gateway; add it to gateway.allowedOrigins';
  if (host !== undefined && isLoopbackName(policy.host) && !isAllowedHost(host, policy))
    return 'this Host is not the loopback address that the gateway listens on';
  return undefined;
}

/** Returns whether a socket's remote address is this machine. */
export function isLoopbackAddress(address: string): boolean {
  const bare = address.replace(/^::ffff:/, '');
  return bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare);
}

function isAllowedOrigin(origin: string, policy: OriginPolicy): boolean {
  if (policy.allowedOrigins.includes(origin)) return true;
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return (
    url !== undefined &&
    url.origin === origin &&
    isLoopbackName(url.hostname) &&
    url.port === String(policy.port)
  );
}

/** A name that an attacker's DNS points at loopback is not ours. */
function isAllowedHost(host: string, policy: OriginPolicy): boolean {
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  if (url === undefined) return false;
  if (isLoopbackName(url.hostname)) return true;
  return policy.allowedOrigins.some(
    (origin) => URL.canParse(origin) && new URL(origin).host === host,
  );
}

function isLoopbackName(name: string): boolean {
  const bare = name.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || isLoopbackAddress(bare);
}
