/** A model that sessions may talk to (`models.list`). */
export interface ModelView {
  /** as the provider calls it; `provider/id` is how it is addressed */
  id: string;
  name: string;
  provider: string;
  alias?: string;
  /** tokens */
  contextWindow: number;
  reasoning: boolean;
  input: ('text' | 'image')[];
}
