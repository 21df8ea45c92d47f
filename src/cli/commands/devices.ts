import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';
import { collect } from '../parse-argument.ts';
import { defineDevicesList } from './devices-list.ts';

interface ApproveFlags extends ClientFlags {
  scope?: string[];
}
type Json = Record<string, unknown>;

export function defineDevices(command: Command, io: CliIo): void {
  command
    .description('Lists the devices that may connect, and decides about those that ask to.')
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nA device is a client with a key of its own. On this machine, with the token of the gateway,\n' +
        'a new one is let in by itself; from elsewhere it asks, and waits for "approve".',
    );
  defineDevicesList(command.command('list'), io);
  defineApprove(command.command('approve'), io);
  defineReject(command.command('reject'), io);
  defineRevoke(command.command('revoke'), io);
  defineRotate(command.command('rotate'), io);
}

function defineApprove(command: Command, io: CliIo): void {
  command
    .summary('let a device in that asks to be')
    .description('Approves a request, for the scopes it asks for or for some of them.')
    .argument('<request-id>', 'as "devices list" shows it')
    .option('--scope <scope>', 'only this scope, such as operator.read; may be repeated', collect);
  addClientOptions(command).action((requestId: string, flags: ApproveFlags) => {
    const scopes = flags.scope === undefined ? {} : { scopes: flags.scope };
    return request(
      'device.pair.approve',
      { params: { requestId, ...scopes }, flags, io },
      (answer) => describeDevice('approved', answer['device']),
    );
  });
}

function defineReject(command: Command, io: CliIo): void {
  command
    .summary('refuse a device that asks to be let in')
    .description('Rejects a request. The device may ask again.')
    .argument('<request-id>', 'as "devices list" shows it');
  addClientOptions(command).action((requestId: string, flags: ClientFlags) =>
    request('device.pair.reject', { params: { requestId }, flags, io }, (answer) =>
      describeDevice('rejected', answer['rejected']),
    ),
  );
}

function defineRevoke(command: Command, io: CliIo): void {
  command
    .summary('take a device its access')
    .description(
      'Revokes a device: its token is worth nothing and its connections are closed at once.\n' +
        'Only "approve" lets it in again.',
    )
    .argument('<device-id>', 'as "devices list" shows it');
  addClientOptions(command).action((deviceId: string, flags: ClientFlags) =>
    request('device.revoke', { params: { deviceId }, flags, io }, (answer) =>
      describeDevice('revoked', answer['device']),
    ),
  );
}

function defineRotate(command: Command, io: CliIo): void {
  command
    .summary('give a device a new token')
    .description(
      'Gives a device a new token and prints it, this once. The old one is worth nothing.',
    )
    .argument('<device-id>', 'as "devices list" shows it');
  addClientOptions(command).action((deviceId: string, flags: ClientFlags) =>
    request('device.token.rotate', { params: { deviceId }, flags, io }, (answer) =>
      asText(answer['deviceToken']),
    ),
  );
}

async function request(
  method: string,
  { params, flags, io }: { params: object; flags: ClientFlags; io: CliIo },
  describe: (answer: Json) => string,
): Promise<void> {
  const answer = await withGateway({ flags, io }, (client) => client.request(method, params));
  io.out(flags.json === true ? JSON.stringify(answer, null, 2) : printable(describe(answer)));
}

function describeDevice(done: string, device: unknown): string {
  if (!isRecord(device)) return done;
  const scopes = Array.isArray(device['scopes']) ? device['scopes'].map(asText).join(' ') : '';
  return `${done}: ${asText(device['name'])} ${asText(device['deviceId'])} (${scopes})`;
}
