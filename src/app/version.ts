/** The version of the package, the same in `package.json`, the protocol's hello and `--version`. */
export const TRUNKLINE_VERSION = '0.1.0';
