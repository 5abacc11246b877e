import { Component, type ComponentChildren } from 'preact';

/** Error boundary: shows the error of a view in its place. Resets when `name` changes. */
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
        <p class="empty-title">This view failed</p>
        <p>{error.message}</p>
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    );
  }
}
