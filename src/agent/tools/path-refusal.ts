/** A path that a file tool must not touch; the message is for the model. */
export class PathRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PathRefusal';
  }
}
