/** What the package gives as `trunkline/client`. */
export { createClient } from './create-client.ts';
export { connectGateway } from './gateway-client.ts';
export { GatewayError } from '../protocol/errors.ts';
export type { Client, ClientOptions, ClientState } from './create-client.ts';
export type { ConnectOptions } from './connect-options.ts';
export type { FollowedMessages, FollowOptions, SessionMessage } from './followed-messages.ts';
export type { GatewayClient, RequestOptions } from './gateway-client.ts';
export type { MethodAnswers } from '../protocol/answers/method-answers.ts';
export type { ErrorCode } from '../protocol/errors.ts';
export type { EventName, EventPayloads, MessagePosition } from '../protocol/events.ts';
export type { Message } from '../protocol/message.ts';
export type { MethodInput, MethodName } from '../protocol/methods.ts';
