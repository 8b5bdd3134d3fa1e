module hearth-and-keep/transparency-log/oracle

go 1.24

require golang.org/x/mod v0.27.0
