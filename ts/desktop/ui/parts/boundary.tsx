import { Component, type ComponentChildren } from 'preact';

/** Where a view fails, the others stay usable, and the failure is told. Another view (`name`) begins anew. */
export class Boundary extends Component<{ name: string; children: ComponentChildren }, { error: Error | null }> {
  override state = { error: null };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(previous: { name: string }): void {
    if (previous.name !== this.props.name && this.state.error) this.setState({ error: null });
  }

  override render() {
    const { error } = this.state as { error: Error | null };
    if (!error) return this.props.children;
    return (
      <div class="empty" role="alert">
        <p class="empty-title">This view has failed</p>
        <p>{error.message}</p>
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </div>
    );
  }
}
