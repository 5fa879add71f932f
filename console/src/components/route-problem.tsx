// Shown instead of a page that failed.
import { isRouteErrorResponse, Link, useRouteError } from 'react-router';
import { paths } from '../paths.ts';
import { ProblemPanel } from './problem.tsx';

export function RouteProblem() {
  const error = useRouteError();
  const isOldBuild = error instanceof TypeError && /dynamically imported module|module script/i.test(error.message);
  if (isOldBuild) {
    return (
      <div className="main">
        <h1>Carillon was updated</h1>
        <p>This page belongs to the version before. Load it again to go on.</p>
        <button type="button" onClick={() => window.location.reload()}>
          Load the page again
        </button>
      </div>
    );
  }
  return (
    <div className="main">
      <h1 style={{ fontSize: 22 }}>This page could not be shown</h1>
      <ProblemPanel error={isRouteErrorResponse(error) ? undefined : error} onRetry={() => window.location.reload()} />
      <p>
        <Link to={paths.home}>Go to the start</Link>
      </p>
    </div>
  );
}

/** The same outside of the frame. */
export function WholeProblem() {
  return (
    <main>
      <RouteProblem />
    </main>
  );
}
