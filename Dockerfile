# The binary is static, so the image holds nothing else: no shell, no package to patch, no root.
FROM golang:1.26.11 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /sluice ./cmd/sluice

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /sluice /sluice
# SLUICE_TEAMS_FILE is teams.yaml unless it is set: mount the file, or better its directory, here.
WORKDIR /etc/sluice
# Teams' traffic. The admin listener is on the container's own loopback, where the healthcheck asks it; probes from
# outside need SLUICE_ADMIN_LISTEN=:8081.
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["/sluice", "health"]
ENTRYPOINT ["/sluice"]
