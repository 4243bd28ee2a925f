/**
 * How the image routes are run.
 */
import * as Context from "effect/Context"

export interface ImageSettingsValues {
  /** Part of the header `x-<service>-billing`. */
  readonly serviceName: string
  /** Of all image requests together: forms, source images and answers in memory. */
  readonly allImageBytes: number
}

const MIB = 1024 * 1024

export const defaults: ImageSettingsValues = { serviceName: "tollgate", allImageBytes: 512 * MIB }

export class ImageSettings extends Context.Reference<ImageSettings>()("@tollgate/adapters-http/ImageSettings", {
  defaultValue: () => defaults
}) {}
