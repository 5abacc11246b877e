export function ModelsView() {
  return <p>Soon</p>;
}
