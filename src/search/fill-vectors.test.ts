import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
