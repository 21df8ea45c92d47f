/** What is told of exchanges, and what may be asked of them. */

/** One of the two; `runId` may be any run of the exchange. */
export interface ExchangeQuery {
  exchangeId?: string | undefined;
  runId?: string | undefined;
}

export interface ExchangesQuery {
  sessionKey: string;
  limit?: number;
  cursor?: string;
}
