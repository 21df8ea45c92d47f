/** What goes into the worker thread of one `exec` call, and what comes out of it. */
export interface ExecRequest {
  /** real path of the workspace */
  root: string;
  command: string;
  timeoutMs: number;
  /** bytes the shell may write before it is stopped */
  maxOutputBytes: number;
}

export interface ExecReply {
  stdout: string;
  stderr: string;
  exitCode: number;
}
