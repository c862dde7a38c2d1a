# One static program in an empty image:
#   docker build --tag nacre .
#   docker run --volume nacre:/memory --publish 127.0.0.1:7717:7717 nacre
# The first start shows a token, once. For an agent over a pipe: docker run --interactive --volume nacre:/memory nacre mcp
FROM rust:1.92-alpine AS build
RUN apk add --no-cache musl-dev
WORKDIR /nacre
COPY . .
RUN cargo build --release --locked --package nacre-cli && mkdir -p /empty/memory /empty/tmp

FROM scratch
COPY --from=build /nacre/target/release/nacre /nacre
COPY --from=build --chown=1000:1000 /empty/ /
USER 1000:1000
ENV NACRE_HOME=/memory
VOLUME /memory
EXPOSE 7717
ENTRYPOINT ["/nacre"]
# The port is published on loopback above: what comes in there is this machine's own.
CMD ["serve", "--listen", "0.0.0.0:7717", "--plain", "--allow-host", "127.0.0.1:7717", "--allow-host", "localhost:7717"]
