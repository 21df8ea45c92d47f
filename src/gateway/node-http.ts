// An import of `node:http` as a module evaluates all that it exports, among it the browser's WebSocket
// and fetch that Node brings along: 6 MB that a gateway spoken to by WebSocket does not use.
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
