export function SearchView() {
  return <p>Soon</p>;
}
